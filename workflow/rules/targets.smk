"""What a user asks for by name: each target, of every model on every corpus of its kind."""


localrules:
    surface,
    syntax,
    gradients,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    table_1,


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


rule table_1:
    input:
        of_runs("treebank", "syntax/table1.csv", "syntax/table1.html", "syntax/table1.md"),


rule surface:
    input:
        of_runs("text", "skipped.csv", "surface/heads.csv", "surface/uniform.csv"),
        of_runs("text", *figures("figure_1", "figure_2", "figure_4")),


rule syntax:
    input:
        rules.table_1.input,
        of_runs("treebank", "skipped.csv", "syntax/heads.csv", "syntax/examples.csv"),
        of_runs("treebank", *figures("figure_5", "syntax_heads", "syntax_baseline")),


rule gradients:
    input:
        rules.figure_3.input,
        of_runs("text", "gradients/layers.csv", "gradients/heads.csv", "gradients/loss.csv"),
