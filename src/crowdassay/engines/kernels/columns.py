"""What the columns of the passes' sums are, and limits that passes share: apart from them, so that no compiler is loaded."""

NEGLIGIBLE = 1e-9  # class weights below are nothing to a verdict
FAINT = 1e-14  # class weights below this add nothing to a sum of doubles
LONGEST_STEP = 5.0  # logits that a Newton step may go: far out the curvature is nearly nothing
SMALL_RISE = 1e-3  # a Newton step that promises to raise the evidence by half of this is taken for the last

# crowdassay.engines.kernels.others.compare_with_others
AGREED, CHANCE, TYPICAL, SQUARES, HALFWAY = range(5)

# crowdassay.engines.kernels.behaviour.add_behaviour: of a worker, of a class and answer, of a part of a worker's time
LABELS, WRONG, PAR, PAR_VARIANCE, PAR_TYPICAL, KNOWN, KNOWN_WRONG, KNOWN_PAR, KNOWN_VARIANCE = range(9)
SEEN, EXPECTED, VARIANCE = range(3)
BIN_LABELS, BIN_RIGHT, BIN_WRONG, BIN_EXPECTED, BIN_VARIANCE = range(5)

# crowdassay.engines.kernels.agreement.add_items
PAIRS_SAME, PAIRS, COINCIDENT, MARGIN, SHARE_SAME, SHARE = range(6)
