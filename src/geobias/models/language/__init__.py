"""Language models of transformers: masked, causal, sequence-to-sequence; and template sentences for them."""
