"""Classifiers that do not see the names of people: wrappers around any classifier, saved and loaded by name."""
