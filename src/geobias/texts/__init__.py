"""The texts that models score: template sentences, the user's texts, the people in them, counterfactuals, prefixes."""
