"""What a user asks for by name: each target, of every model on every corpus of its kind."""


rule figure_1:
    input:
        of_runs("text", *figures("figure_1")),


rule figure_2:
    input:
        of_runs("text", *figures("figure_2")),


rule figure_3:
    input:
        of_runs("text", *figures("figure_3")),


rule figure_4:
    input:
        of_runs("text", *figures("figure_4")),


rule figure_5:
    input:
        of_runs("treebank", *figures("figure_5")),
        of_runs("coreference", *figures("figure_5_coreference")),


rule figure_6:
    input:
        of_runs("text", *figures("figure_6")),


rule table_1:
    input:
        of_runs("treebank", "syntax/table1.csv", "syntax/table1.html", "syntax/table1.md"),


rule table_2:
    input:
        of_runs("coreference", "coreference/table2.csv", "coreference/table2.html", "coreference/table2.md"),


rule surface:
    input:
        of_runs("text", "skipped.csv", "surface/heads.csv", "surface/uniform.csv"),
        of_runs("text", *figures("figure_1", "figure_2", "figure_4")),


rule syntax:
    input:
        rules.table_1.input,
        of_runs("treebank", "skipped.csv", "syntax/heads.csv", "syntax/examples.csv"),
        of_runs("treebank", *figures("figure_5", "syntax_heads", "syntax_baseline")),


rule coreference:
    input:
        rules.table_2.input,
        of_runs("coreference", "skipped.csv"),
        of_runs("coreference", *[f"coreference/{name}.csv" for name in ("heads", "distances", "mentions", "links")]),
        of_runs("coreference", *figures("figure_5_coreference", "coreference_heads", "coreference_distances")),


rule clusters:
    input:
        of_runs("text", "clusters/divergence.csv", "clusters/map.csv", "clusters/tests.csv"),
        of_runs("text", *figures("figure_6", "divergence")),


rule figure_sep:
    input:
        of_runs("text", *figures("figure_sep")),


rule norms:
    input:
        rules.figure_sep.input,
        of_runs("text", "skipped.csv", "norms/layers.csv", "norms/heads.csv", "norms/shares.csv"),
        of_runs("text", "norms/claims.csv", "norms/claims.html", "norms/claims.md"),


rule gradients:
    input:
        rules.figure_3.input,
        of_runs("text", "gradients/layers.csv", "gradients/heads.csv", "gradients/loss.csv"),


rule table_3:
    input:
        of_probe_runs("probes/table3.csv", "probes/table3.html", "probes/table3.md"),


rule probes:
    input:
        rules.table_3.input,
        of_probe_runs("skipped.csv", "probes/curve.csv", "probes/weights.csv", "probes/coverage.csv"),
        of_probe_runs(*figures("probe_weights", "probe_curve")),


rule compare:
    input:
        "results/compare/claims.csv",
        of_comparisons(runs("text"), "surface.csv", *figures("compare_surface")),
        of_comparisons(runs("treebank"), "syntax.csv", *figures("compare_syntax")),
        of_comparisons(runs("coreference"), "coreference.csv"),
        of_comparisons(probe_runs(), "probes.csv"),


rule compare_divergence:
    input:
        [
            f"results/compare/{corpus}/{table}.csv"
            for corpus in CORPORA
            if compared_on(corpus)
            for table in ("divergence", "nearest", "layers", "pairs", "left_out")
        ],
        [
            f"results/compare/{corpus}/{model}/{other}/{file}"
            for corpus in CORPORA
            for model, other in compared_on(corpus)
            for file in figures("compare_divergence")
        ],


rule series:
    input:
        of_series("treebank", "syntax/best.csv", "syntax/traced.csv", *figures("series_syntax")),
        of_series("text", "surface/heads.csv", "surface/layers.csv", *figures("series_surface")),


rule report:
    input:
        "results/report.html",
