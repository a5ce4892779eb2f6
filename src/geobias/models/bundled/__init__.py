"""The models that ship with geobias."""
