"""The regions audit (HERB): how differently a language model describes the people of the world's regions."""
