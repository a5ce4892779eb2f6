"""What is asked: template sentences, the user's texts, the people in them, counterfactuals, prefixes."""
