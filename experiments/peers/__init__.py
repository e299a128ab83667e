"""Our default call, knowing nothing, beside everything else, knowing bounds and resolution."""
