"""Limits that compiled and other passes share: apart from them, so that no compiler is loaded."""

FAINT = 1e-14  # class weights below this add nothing to a sum of doubles
LONGEST_EFFECT_STEP = 5.0  # logits that a Newton step may go: far out the curvature is nearly nothing
SMALL_RISE = 1e-3  # a Newton step that promises to raise the evidence by half of this is taken for the last
FREE_WEIGHTS, VOTE_WEIGHTS, GIVEN_WEIGHTS = 0, 1, 2  # where the class weights of an item come from
