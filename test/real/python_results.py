"""What each test of a run of CPython's test suite came to: python_results.py FILE, as --junit-xml wrote it."""
import sys
import xml.etree.ElementTree

lines = []
for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    kinds = sorted({c.tag for c in case} & {"error", "failure", "skipped"})
    lines.append("%s %s" % (case.get("name"), ",".join(kinds) or "ok"))
print("\n".join(sorted(lines)))
