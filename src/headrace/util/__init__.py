"""Small helpers of the public API that belong to no other package."""
