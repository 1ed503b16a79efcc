"""How the tables of coreference read: candidate sets, types of mention, directions and predictors."""

ALL = "all"
CANDIDATE_NAMES = {
    "mentions": "earlier mentions",
    "words": "all other words",
    "all_mentions": "all other mentions",
}
TYPE_NAMES = {ALL: "all", "pronoun": "pronoun", "proper": "proper noun", "nominal": "nominal"}
DIRECTION_NAMES = {
    "anaphor_to_antecedent": "anaphor to antecedent",
    "antecedent_to_anaphor": "antecedent to anaphor",
}
PREDICTOR_NAMES = {
    "nearest": "nearest",
    "head_match": "same head word, else nearest",
    "rules": "four-sieve rules",
    "head": "best head",
    "held_out": "best head, held out",
}
CANDIDATES, TYPES = tuple(CANDIDATE_NAMES), tuple(TYPE_NAMES)
DIRECTIONS, PREDICTORS = tuple(DIRECTION_NAMES), tuple(PREDICTOR_NAMES)
BASELINES = ("nearest", "head_match", "rules")


def predictor_name(row: dict) -> str:
    """Return how a row of `coreference/table2` is called; the best head with its number and direction."""
    name = PREDICTOR_NAMES[row["predictor"]]
    if row["layer"] is None:
        return name
    return f"{name} {row['layer']}-{row['head']} ({DIRECTION_NAMES[row['direction']]})"
