"""The claims of Clark et al. 2019 that result tables can answer, by the kind of corpus that they are tested on."""

from headscope.comparison import accuracy_claims, structure_claims, surface_claims

CLAIMS_OF = {
    "text": (*surface_claims.CLAIMS, *structure_claims.CLAIMS),
    "treebank": (*accuracy_claims.SYNTAX, *accuracy_claims.PROBES),
    "coreference": accuracy_claims.COREFERENCE,
}
CLAIMS = {claim.name: claim for claims in CLAIMS_OF.values() for claim in claims}
SECTIONS = {
    "3.1": "relative position",
    "3.2": "special tokens",
    "3.3": "broad attention",
    "4.2": "dependency syntax",
    "4.3": "coreference",
    "5": "probes over all heads",
    "6": "heads that are alike",
}
"""The paper's sections, in its order."""
