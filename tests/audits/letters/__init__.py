"""The smallest complete audit: how many letters each country's name has. CONTRIBUTING.md walks through it."""
