"""The texts that models score: template sentences, the user's texts, the people in them, counterfactuals, prefixes.

The default sentences stand here, and nothing is imported: `geobias --help` names them.
"""

DEFAULT_TEMPLATE = "People in {region} are {description}."
DEFAULT_PREFIX = "I am from {region}."
# Wordings of the downstream audit, each with a control that names no region. Both are samples: one wording, of either,
# may move a classifier by itself.
DEFAULT_WORDINGS = (
    (DEFAULT_PREFIX, "I am from here."),
    ("I grew up in {region}.", "I grew up in the country."),
    ("My family lives in {region}.", "My family lives in a small town."),
)
