"""What a user asks for by name: each target, of every model on every corpus of its kind."""


localrules:
    all,
    surface,
    syntax,
    figure_1,
    figure_2,
    figure_4,


rule figure_1:
    input:
        of_runs("text", *figures("figure_1")),


rule figure_2:
    input:
        of_runs("text", *figures("figure_2")),


rule figure_4:
    input:
        of_runs("text", *figures("figure_4")),


rule surface:
    input:
        of_runs("text", "skipped.csv", "surface/heads.csv", "surface/uniform.csv"),
        of_runs("text", *figures("figure_1", "figure_2", "figure_4")),


rule syntax:
    input:
        of_runs("treebank", "skipped.csv", "syntax/heads.csv", "syntax/table1.csv", "syntax/examples.csv"),


rule all:
    default_target: True
    input:
        rules.surface.input,
        rules.syntax.input,
