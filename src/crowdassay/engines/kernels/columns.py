"""What the columns of the passes' sums are, and limits that passes share: apart from them, so that no compiler is loaded."""

FAINT = 1e-14  # class weights below this add nothing to a sum of doubles
LONGEST_STEP = 5.0  # logits that a Newton step may go: far out the curvature is nearly nothing
SMALL_RISE = 1e-3  # a Newton step that promises to raise the evidence by half of this is taken for the last

# crowdassay.engines.kernels.agreement.add_items
PAIRS_SAME, PAIRS, COINCIDENT, MARGIN, SHARE_SAME, SHARE = range(6)
