"""The names audit: how a classifier treats people by the country that their names come from."""
