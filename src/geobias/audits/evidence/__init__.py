"""Bundles of evidence: finished runs with everything that a reviewer needs, and a manifest that shows any change."""
