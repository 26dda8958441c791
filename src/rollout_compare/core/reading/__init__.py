"""Reading a side: from paths to rows as compact columns."""
