"""Numbers from answers: arrays in, arrays out, each function an equation."""
