"""The heads of two models beside each other: how unlike they are on the same examples."""
