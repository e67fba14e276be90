"""mutations.py - which one-line changes there are of a C source in the style of this tree.  Pure.

sites(text) gives the lines of function bodies; of(text, line) their changes, each an operator and the new lines by
number.  Lines of messages and of debug builds are left out: no test promises their every word.
"""
import re

MESSAGE = re.compile(r'printf|fatal|_report|assert|warn|perror|complain|gasneti_error|strerror|"[^"]* [^"]*"')
ORDER = re.compile(r'memory_order_(?:release|acquire|acq_rel|seq_cst)|lock\(')
EXCHANGES = [  # operator, pattern whose first group is replaced, replacement
    ('compare', r' (<) ', '<='), ('compare', r' (<=) ', '<'), ('compare', r' (>) ', '>='), ('compare', r' (>=) ', '>'),
    ('compare', r' (==) ', '!='), ('compare', r' (!=) ', '=='),
    ('arithmetic', r' (\+) ', '-'), ('arithmetic', r'\w (-) ', '+'), ('arithmetic', r' (\+=) ', '-='),
    ('arithmetic', r' (-=) ', '+='), ('arithmetic', r'(\+\+)', '--'), ('arithmetic', r'(--)', '++'),
    ('logic', r' (&&) ', '||'), ('logic', r' (\|\|) ', '&&'), ('bits', r'[\w)] (&) ', '|'), ('bits', r' (\|) ', '&'),
    ('order', r'memory_order_(release|acquire|acq_rel|seq_cst)\b', 'relaxed'),
]


def blank(text):
    """The text with comments and the insides of literals as blanks; every character keeps its place."""
    def spaces(match):
        found = match.group()
        if found[0] in '"\'':
            return found[0] + ' ' * (len(found) - 2) + found[-1]
        return re.sub(r'[^\n]', ' ', found)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', spaces, text, flags=re.S)


def sites(text):
    """Numbers of lines inside functions, whose braces stand in the first column."""
    raw, lines = text.split('\n'), blank(text).split('\n')
    inside, debug, found = False, 0, []
    for i, line in enumerate(lines):
        if re.match(r'#\s*if', line):
            debug += debug > 0 or 'DEBUG' in line
        elif re.match(r'#\s*endif', line):
            debug -= debug > 0
        elif line.startswith('{'):
            inside = i > 0 and ')' in lines[i - 1]
        elif line.startswith('}'):
            inside = False
        elif inside and not debug and line.strip(' \t{};') and not MESSAGE.search(raw[i]):
            found.append(i)
    return found


def closing(line, start):
    """The place of the parenthesis that closes the one at `start`; -1: on another line."""
    depth = 0
    for i in range(start, len(line)):
        depth += {'(': 1, ')': -1}.get(line[i], 0)
        if depth == 0:
            return i
    return -1


def exchanges(line, masked):
    for operator, pattern, new in EXCHANGES:
        for hit in re.finditer(pattern, masked):
            yield operator, line[:hit.start(1)] + new + line[hit.end(1):]
    hinted = re.sub(r'__builtin_expect\(.*, [01]\)', lambda h: h.group()[:-2] + '_)', masked)
    for hit in re.finditer(r'(?<![\w.])(\d+)(?=[uUlL]*\b)(?![.x])', hinted):
        yield 'constant', line[:hit.start(1)] + str(int(hit.group(1)) + 1) + line[hit.end(1):]


def conditions(line, masked):
    hit = re.match(r'\s*(?:else |\} else )?if \(', masked)
    end = closing(masked, hit.end() - 1) if hit else -1
    if end > 0:
        yield 'negate', line[:hit.end()] + '!(' + line[hit.end():end] + ')' + line[end:]
        if masked.rstrip().endswith(';') and masked[end + 1:].strip():
            yield 'drop', line[:end + 1] + ' {}'
    hit = re.match(r'(\s*return )(.* (?:==|!=|<|>|&&|\|\|) .*);\s*$', masked)
    if hit:
        yield 'negate', line[:hit.end(1)] + '!(' + line[hit.end(1):hit.end(2)] + ');'


def whole_statement(lines, i):
    """The line is one statement, an assignment or a call, which can be left out."""
    before = lines[i - 1].strip()
    return (before == '' or before[-1] in ';{}:') and re.match(r'\s+[^;{}]*;\s*$', lines[i]) and \
        not re.match(r'\s*(return|break|continue|goto|if|for|while|else|static|const|struct|enum|case)\b', lines[i]) and \
        re.match(r'\s*([\w>.\[\]*()+-]+ [-+|&^]?= |[\w>.-]+\(|[\w>.\[\]*()-]+(\+\+|--);)', lines[i])


def lock_pair(raw, lines, i):
    """Without the lock that this line takes, where its function releases it; or None."""
    hit = re.match(r'\s*(\w*?)lock\((.*)\);', lines[i])
    if not hit or hit.group(1).endswith('un'):
        return None
    other = re.compile(r'\w*unlock\(' + re.escape(hit.group(2)) + r'\)')
    pair = {i: ';'}
    for j in range(i + 1, len(lines)):
        if lines[j].startswith('}'):
            break
        if other.search(lines[j]):
            pair[j] = other.sub('(void)0', raw[j])
    return pair if len(pair) > 1 else None


def of(text, i):
    """All changes of line i: pairs of an operator and {line: new text}."""
    raw, lines = text.split('\n'), blank(text).split('\n')
    found = [(operator, {i: new}) for make in (exchanges, conditions) for operator, new in make(raw[i], lines[i])]
    if whole_statement(lines, i):
        found.append(('drop', {i: ';'}))
        pair = lock_pair(raw, lines, i)
        if pair:
            found.append(('lock pair', pair))
    return found
