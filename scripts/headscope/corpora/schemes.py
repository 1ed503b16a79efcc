"""From Universal Dependencies to the Stanford labels that Clark et al. (2019) score in Table 1."""

RENAMED = {
    "obj": "dobj",
    "compound": "nn",
    "nmod:poss": "poss",
    "aux:pass": "auxpass",
    "nsubj:pass": "nsubjpass",
    "compound:prt": "prt",
    "nummod": "num",
    "acl:relcl": "rcmod",
}
OBLIQUE = ("obl", "nmod")


def to_stanford(
    heads: list[int], relations: list[str], upos: list[str], xpos: list[str]
) -> tuple[list[int], list[str]]:
    """
    Convert one tree.

    An `obl` or `nmod` (not `nmod:poss`) with an adposition as `case` child turns round: the first adposition becomes
    `prep` of the noun's head, the noun its `pobj`. A `case` child tagged POS is `possessive`. Other labels change their
    name or keep it, and no other head moves.

    Parameters
    ----------
    heads
        The head of each word, from 1; 0 is the root.
    relations, upos, xpos
        The UD relation, universal and Penn tag of each word.

    Returns
    -------
    heads, relations
        New lists of the same length.
    """
    new_heads = list(heads)
    new_relations = [RENAMED.get(relation, relation) for relation in relations]
    first_adposition = {}
    for word, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1):
        if relation == "case" and xpos[word - 1] == "POS":
            new_relations[word - 1] = "possessive"
        elif relation == "case" and upos[word - 1] == "ADP":
            first_adposition.setdefault(head, word)
    for noun, adposition in first_adposition.items():
        relation = relations[noun - 1]
        if relation != "nmod:poss" and relation.split(":")[0] in OBLIQUE:
            new_heads[adposition - 1], new_relations[adposition - 1] = heads[noun - 1], "prep"
            new_heads[noun - 1], new_relations[noun - 1] = adposition, "pobj"
    return new_heads, new_relations
