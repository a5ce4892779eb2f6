"""The audit of finders: whose names does a finder of people miss?"""
