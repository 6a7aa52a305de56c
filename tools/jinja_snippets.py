# SPDX-License-Identifier: MIT
"""Template snippets for jinja_oracle.py, grouped by feature. Each is a template, or (template, variables)."""

DATA = {
    "n": 7, "neg": -3, "f": 2.5, "big": 1e20, "tiny": 1.5e-7, "zero": 0, "t": True, "no": False, "nil": None,
    "s": "Hello World", "e": "", "u": "na\u00efve \u00dfa\u017f \u65e5\u672c \U0001f600", "lines": "one\ntwo\n\n  three\n",
    "l": [3, 1, 2], "words": ["banana", "Apple", "cherry", "apple"], "empty": [], "nested": [[1, 2], [3, [4]]],
    "d": {"b": 1, "a": 2, "C": 3}, "deep": {"x": {"y": [10, {"z": "end"}]}}, "ed": {},
    "people": [{"name": "Ann", "age": 30, "city": {"zip": "x1"}}, {"name": "bob", "age": 25, "city": {"zip": "a2"}},
               {"name": "Cid", "age": 30}],
    "html": "<a href='x'>T & \"q\"</a>", "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]},
                                               {"v": 5, "c": []}],
    "mixed": [1, "a", None, 2.0, True, {"k": [1]}],
    "messages": [{"role": "system", "content": " Be nice. "}, {"role": "user", "content": "Hi"},
                 {"role": "assistant", "content": "Yo"}, {"role": "user", "content": "Bye"}],
}

VALUES = """{{ n }}|{{ neg }}|{{ f }}|{{ big }}|{{ tiny }}|{{ t }}|{{ no }}|{{ nil }}|{{ s }}|{{ e }}
{{ u }}
{{ l }} {{ d }} {{ deep }} {{ mixed }} {{ nested }}
{{ missing }}|{{ deep.nothing }}|{{ deep['nothing'] }}|{{ l[99] }}|{{ s[99] }}
{{ 1 }} {{ 1.0 }} {{ 1e3 }} {{ 1.5e-5 }} {{ 0.0001 }} {{ 123456789012345680.0 }} {{ 1e16 }} {{ 9999999999999998.0 }} {{ 1e22 }} {{ 5e-324 }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1_0.5_0 }} {{ 0 }} {{ 00 }}
{{ 'a' "b" 'c' }} {{ "q'q" }} {{ 'q"q' }} {{ 'tab\\tnew\\nuni\\u00e9\\x41\\101\\\\' }} {{ 'unknown \\d \\é' }}
{{ (1,) }} {{ (1, 2) }} {{ () }} {{ 1, 2 }} {{ [1, 'x', none, true, 1.5] }} {{ {'a': [1], 2: (3,)} }} {{ [] }} {{ {} }}
{{ ["it's", 'say "hi"', 'both \\' "', 'nl\\n', 'tab\\t', 'bs\\\\', 'é', '\\u200b', '\\x01', '\\xa0'] }}
{{ true }} {{ True }} {{ false }} {{ False }} {{ none }} {{ None }}
{{ 9007199254740993 }} {{ 2 ** 63 - 1 }} {{ 2 ** 64 }} {{ -(2 ** 63) }}
{{ 1.0 == 1 }} {{ true == 1 }} {{ '1' == 1 }} {{ none == false }} {{ [1] == [1.0] }} {{ {'a': 1} == {'a': 1.0} }} {{ (1,) == [1] }}
{{ range(3) }} {{ range(1, 10, 3) }} {{ d.items() }} {{ d.keys() }} {{ d.values() }}
{{ namespace(a=1, b='x') }}
{{ {'a': 1, 'a': 2} }} {{ {1: 'x', 1.0: 'y', true: 'z'} }}
{{ -0.0 }} {{ 1e308 * 10 }} {{ -1e308 * 10 }} {{ 0.1 + 0.2 }} {{ 100 / 3 }} {{ 2 / 1 }}"""

ARITHMETIC = """{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 2 ** 10 }}
{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}
{{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ [1] * 2 }} {{ (1, 2) * 2 }} {{ 'x' * 0 }} {{ 'x' * -1 }} {{ true + true }} {{ 'a' + 'b' }} {{ [1] + [2] }} {{ (1,) + (2,) }}
{{ 1 ~ 2 }} {{ 'a' ~ none ~ true ~ 1.5 ~ [1] ~ missing ~ 'z' }} {{ (1 + 2) ~ (3 + 4) }} {{ 2 * 3 ~ 4 }}
{{ +5 }} {{ -n }} {{ - -n }} {{ -f }} {{ +true }} {{ -true }} {{ not n }} {{ not not n }} {{ not e }}
{{ 1 < 2 }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 > 2 >= 2 }} {{ 1 == 1.0 != 2 }} {{ 'a' < 'b' }} {{ 'Z' < 'a' }} {{ [1, 2] < [1, 3] }} {{ (1,) < (1, 0) }} {{ 1 <= 1.5 }} {{ [1,2] <= [1,2] }}
{{ 2 in l }} {{ 9 in l }} {{ 9 not in l }} {{ 'World' in s }} {{ '' in s }} {{ 'a' in d }} {{ 'z' not in d }} {{ 1 in (1, 2) }} {{ 2 in range(3) }} {{ 1.0 in l }} {{ 'x' in missing }} {{ not 2 in l }}
{{ n and s }} {{ zero and s }} {{ zero or s }} {{ n or s }} {{ e or nil or 'last' }} {{ missing or 'dflt' }} {{ t and no or n }}
{{ 'yes' if t else 'no' }} {{ 'yes' if no else 'no' }} {{ 'only' if no }}| {{ 'a' if no else 'b' if no else 'c' }} {{ ('x' if t) ~ 'y' }}
{{ '%s and %s' % ('a', 1) }} {{ '%d%%' % 5 }} {{ '%05.1f|%-6s|%+d|% d' % (3.14159, 'ab', 5, 6) }} {{ '%x %X %o %e %g' % (255, 255, 8, 12345.678, 0.0001) }} {{ '%r %s' % ('q', none) }} {{ '%(a)s-%(b)03d' % {'a': 'x', 'b': 7} }} {{ '%c%c' % ('a', 66) }} {{ '%.3s|%5.2s|' % ('abcdef', 'xyz') }} {{ '%s' % [1, 2] }} {{ '%i' % 3.9 }} {{ '%#x' % 255 }} {{ '%5d|%-5d|%05d' % (42, 42, -42) }}
{{ 10 % 4 * 2 }} {{ (2 + 3) | string }} {{ -1 | abs }} {{ (-1) | abs }} {{ 1.5 + 1 }} {{ 5 - 2.0 }} {{ 3 * 1.5 }} {{ 7 // 2.0 }} {{ 1e3 // 7 }} {{ 0.3 // 0.1 }} {{ 0.3 % 0.1 }}"""

LOOKUPS = """{{ deep.x.y[1].z }} {{ deep['x']['y'][0] }} {{ l[0] }} {{ l[-1] }} {{ s[0] }} {{ s[-1] }} {{ u[0] }} {{ u[-1] }} {{ l.0 }} {{ nested.1.1.0 }} {{ d['b'] }} {{ d.b }} {{ {1: 'i'}[1] }} {{ l[true] }}
{{ l[1:] }} {{ l[:2] }} {{ l[::-1] }} {{ l[-2:] }} {{ l[5:] }} {{ l[::2] }} {{ s[1:5] }} {{ s[::-1] }} {{ s[::2] }} {{ s[-5:-1] }} {{ u[2:8] }} {{ u[::-1] }} {{ (1,2,3)[1:] }} {{ range(10)[2:8:2] | list }} {{ range(10)[-1] }} {{ s[10:2] }} {{ s[:100] }} {{ l[2:0:-1] }} {{ l[None:2] }} {{ l[n:] }} {{ s[5:0:-2] }} {{ l[-100:100] }}
{{ d.get('b') }} {{ d.get('q') }} {{ d.get('q', 'dd') }} {{ d['items'] is callable }} {{ {'items': 1}['items'] }} {{ {'items': 1}.items is callable }} {{ {'get': 1}.get is callable }} {{ {'upper': 1}.upper }}
{{ missing is defined }} {{ (missing.x is defined) if false else 'k' }} {{ deep.q is defined }} {{ deep.x.q is undefined }} {{ l.foo is defined }} {{ s.nope is defined }} {{ n.nope is defined }}
{{ 'abc'.upper() }} {{ 'abc'['upper']() }} {{ 'a-b'.split('-')[1] }} {{ ('a' ~ 'b').upper() }} {{ s.split().0 }} {{ "x".join(['a','b']) }} {{ [1,2].index(2) }} {{ (1,1,2).count(1) }} {{ {'a':1}.copy() }}
{{ d.keys() | list }} {{ d.values() | list }} {{ d.items() | list }} {{ d.items() | length }} {{ d.keys() | first }} {{ 'a' in d.keys() }} {{ ('a', 2) in d.items() }}
{{ people[0].city.zip }} {{ 'some' if people[2].city is defined else 'none' }} {{ people | map(attribute='name') | list }}"""

STRING_METHODS = """{{ ' a b '.strip() }}|{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xyaxy'.lstrip('yx') }}|{{ 'abc'.rstrip('cb') }}|{{ '\\n\\ta\\n'.strip() }}|{{ '\\u00a0a\\u3000'.strip() }}|
{{ 'a,b,,c'.split(',') }} {{ 'a,b,,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a  b c '.split() }} {{ ' a  b c '.split(none, 1) }} {{ ' a  b c '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'abc'.split('abc') }} {{ 'a  b'.split(' ') }} {{ 'a--b--c'.split('--', maxsplit=1) }} {{ 'x'.split(sep='y') }}
{{ 'a\\nb\\r\\nc\\rd'.splitlines() }} {{ 'a\\nb\\n'.splitlines(true) }} {{ ''.splitlines() }} {{ 'a\\n\\nb'.splitlines() }}
{{ 'hello'.startswith('he') }} {{ 'hello'.endswith('lo') }} {{ 'hello'.startswith(('x', 'h')) }} {{ 'hello'.startswith('l', 2) }} {{ 'hello'.endswith('l', 0, 4) }} {{ 'hello'.startswith('') }}
{{ 'aXbX'.replace('X', '-') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ 'abc'.replace('', '.') }} {{ 'abc'.replace('', '.', 2) }} {{ 'aaa'.replace('aa', 'b') }}
{{ 'hello'.find('l') }} {{ 'hello'.rfind('l') }} {{ 'hello'.find('z') }} {{ 'hello'.find('l', 3) }} {{ 'hello'.count('l') }} {{ 'aaaa'.count('aa') }} {{ 'abc'.count('') }} {{ 'hello'.index('e') }} {{ '日本日'.rfind('日') }} {{ '日本日'.find('日', 1) }}
{{ 'hello world'.title() }} {{ "they're bill's".title() }} {{ 'hELLO'.capitalize() }} {{ 'aBc'.swapcase() }} {{ 'straße'.upper() }} {{ 'ÀÉ'.lower() }} {{ 'ΑΣ'.lower() }} {{ 'ǆ'.title() }} {{ 'ﬁn'.capitalize() }} {{ 'ß'.capitalize() }} {{ 'İ'.lower() }} {{ 'ABC'.casefold() }}
{{ 'a'.center(5) }}|{{ 'ab'.center(5, '*') }}|{{ 'a'.ljust(3, '.') }}|{{ 'a'.rjust(3) }}|{{ '42'.zfill(5) }}|{{ '-42'.zfill(5) }}|{{ 'abcd'.center(2) }}|{{ 'abc'.center(6, '-') }}
{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('x') }} {{ 'abc'.rpartition('x') }} {{ 'prefix_x'.removeprefix('prefix_') }} {{ 'x.py'.removesuffix('.py') }} {{ 'x'.removesuffix('y') }}
{{ 'abc'.isalpha() }} {{ 'ab1'.isalnum() }} {{ '123'.isdigit() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }} {{ '½'.isnumeric() }} {{ ' \\t'.isspace() }} {{ 'ABC'.isupper() }} {{ 'aBC'.islower() }} {{ 'Ab Cd'.istitle() }} {{ ''.isalpha() }} {{ '1a'.isidentifier() }} {{ 'é'.isascii() }} {{ '1'.isupper() }} {{ 'A1'.isupper() }}
{{ '{} {}'.format(1, 'b') }} {{ '{1}{0}'.format('a', 'b') }} {{ '{x}-{y}'.format(x=1, y=[2]) }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }} {{ '{:.2f} {:05d} {:+d} {:,} {:x} {:b} {:%}'.format(3.14159, 42, 5, 1234567, 255, 5, 0.25) }} {{ '{!r:>6}'.format('q') }} {{ '{{}}'.format() }} {{ '{0[a]} {0.upper}'.format({'a': 1}) is string }} {{ '{a[0]}{b.k}'.format(a=[7], b={'k': 8}) }} {{ '{:{w}}|'.format('x', w=4) }} {{ '{:e} {:g} {:G}'.format(12345.678, 0.00001234, 1e20) }} {{ '{}'.format(1.0) }} {{ '{:5}|{:<5}|{:05.1f}'.format(1, 2, 2.25) }} {{ '{:.3}'.format('abcdef') }} {{ '{:_}'.format(1234567) }}
{{ 'a\\tb'.expandtabs(4) }}|{{ ', '.join(['a', 'b', 'c']) }}|{{ ''.join([]) }}|{{ '-'.join('abc') }}|{{ '-'.join({'x': 1, 'y': 2}) }}|{{ ' '.join(words) }}"""

FILTERS_TEXT = """{{ s | upper }} {{ s | lower }} {{ 'hello world-foo (bar' | title }} {{ "it's a dog's" | title }} {{ 'hELLO wORLD' | capitalize }} {{ 5 | upper }} {{ none | lower }} {{ missing | upper }}|
{{ '  x  ' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ 5 | trim }}|{{ missing | trim }}|{{ none | trim }}|{{ '\\n a \\n' | trim }}
{{ 'aab' | replace('a', 'x') }} {{ 'aab' | replace('a', 'x', 1) }} {{ 123 | replace(2, 'z') }} {{ 'ab' | replace('', '-') }} {{ none | replace('N', 'n') }}
{{ 'ab' | center(6) }}|{{ 'abc' | center(6) }}|{{ 'x' | center | length }}
{{ '%s-%d' | format('a', 3) }} {{ '%(x)s' | format(x=1) }} {{ 'plain' | format }}
{{ lines | indent }}|{{ lines | indent(2) }}|{{ lines | indent(2, true) }}|{{ lines | indent(2, blank=true) }}|{{ lines | indent('> ') }}|{{ '' | indent }}|{{ 'a' | indent(first=true) }}
{{ 'hello big world' | truncate(9) }}|{{ 'hello big world' | truncate(9, true) }}|{{ 'hello big world' | truncate(9, false, '..') }}|{{ 'hello big world' | truncate(9, leeway=0) }}|{{ 'hello big world' | truncate(14) }}|{{ 'hello' | truncate(255) }}|{{ 'hello big world' | truncate(9, true, '', 0) }}
{{ s | wordcount }} {{ "a-b c_d é 12" | wordcount }} {{ '' | wordcount }}
{{ 'aaa bbb ccc ddd' | wordwrap(7) }}|{{ 'abcdefghij' | wordwrap(4) }}|{{ 'abcdefghij xy' | wordwrap(4, false) }}|{{ 'long-hyphen-word here' | wordwrap(8) }}|{{ 'long-hyphen-word here' | wordwrap(8, true, '|', false) }}|{{ 'a\\nb c' | wordwrap(3, wrapstring='+') }}
{{ html | escape }} {{ html | e }} {{ html | safe }} {{ html | forceescape }} {{ html | escape | escape }} {{ html | e | upper }} {{ 5 | e }} {{ none | e }}
{{ '<b>x</b>  <!-- c --> y &amp; z &lt;' | striptags }} {{ 'a b/c?d=é&f' | urlencode }} {{ {'a b': 'c&d', 'e': 1} | urlencode }} {{ [('x', 'y z')] | urlencode }} {{ 5 | urlencode }}
{{ {'class': 'a"b', 'id': none, 'n': 5} | xmlattr }}|{{ {} | xmlattr }}|{{ {'a': 1} | xmlattr(false) }}
{{ ('<' ~ ('<b>' | safe)) }} {{ '<' + ('<b>' | safe) }} {{ ('<b>' | safe) + '<' }} {{ ('%s' | safe) % '<' }} {{ ('<' | e).replace('&', '<') }} {{ ['<' | e] }} {{ ('a' | safe) is string }} {{ ('a' | safe) == 'a' }} {{ ('a' | safe) is escaped }} {{ ('a,<' | safe).split(',') }} {{ (['<'] | join) }} {{ ('-' | safe).join(['<', '>']) }}
{{ 5 | string ~ 'x' }} {{ [1] | string | length }} {{ missing | string | length }} {{ 'x' | string is sameas 'x' }}
{{ d | pprint }} {{ [1, 'a'] | pprint }}"""

FILTERS_JSON = """{{ d | tojson }} {{ mixed | tojson }} {{ u | tojson }} {{ s | tojson }} {{ nil | tojson }} {{ t | tojson }} {{ f | tojson }} {{ big | tojson }} {{ 1.0 | tojson }} {{ '<>&\\'' | tojson }}
{{ '\\x00\\x1f\\x7f\\u2028"\\\\/\\b\\f\\n\\r\\t' | tojson }} {{ (1, 2) | tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ [] | tojson }} {{ {} | tojson }}
{{ deep | tojson(indent=2) }} {{ [1, [], {}, {'a': []}] | tojson(indent=4) }} {{ [1] | tojson(indent=0) }}
{{ deep | tojson(indent='--') }} {{ d | tojson(sort_keys=true) }} {{ d | tojson(separators=(',', ':')) }} {{ u | tojson(ensure_ascii=true) }} {{ u | tojson(true) }} {{ [1, 2] | tojson(indent=1, separators=('; ', '=')) }}
{{ people | tojson }} {{ (1e308 * 10) | tojson }} {{ [1e16, 1e-7, 123.456] | tojson }}"""

FILTERS_SEQUENCE = """{{ l | first }} {{ l | last }} {{ s | first }} {{ s | last }} {{ d | first }} {{ d | last }} {{ empty | first }}| {{ empty | last }}| {{ missing | first }}| {{ missing | last }}|
{{ l | length }} {{ s | length }} {{ u | length }} {{ d | length }} {{ missing | length }} {{ l | count }} {{ range(5) | length }} {{ (1,2) | length }}
{{ l | list }} {{ 'abc' | list }} {{ d | list }} {{ missing | list }} {{ range(3) | list }} {{ u[:2] | list }}
{{ l | join }} {{ l | join(', ') }} {{ mixed | join('|') }} {{ people | join(', ', attribute='name') }} {{ 'abc' | join('-') }} {{ missing | join(',') }}| {{ d | join('+') }} {{ l | join(1) }}
{{ l | reverse | list }} {{ s | reverse }} {{ d | reverse | list }} {{ (1, 2) | reverse | list }} {{ l | map('string') | reverse | list }} {{ range(3) | reverse | list }} {{ missing | reverse | list }}
{{ l | sort }} {{ l | sort(reverse=true) }} {{ words | sort }} {{ words | sort(case_sensitive=true) }} {{ people | sort(attribute='age') | map(attribute='name') | list }} {{ people | sort(attribute='age,name') | map(attribute='name') | list }} {{ people | sort(true, attribute='name') | map(attribute='name') | list }} {{ 'bca' | sort }} {{ d | sort }} {{ [(2, 'a'), (1, 'b')] | sort }} {{ [2.5, 1, true] | sort }} {{ nested | sort(attribute='0', reverse=true) }}
{{ d | dictsort }} {{ d | dictsort(true) }} {{ d | dictsort(false, 'value') }} {{ d | dictsort(reverse=true) }} {{ d | dictsort(by='value', reverse=true) }} {{ {'b': 'X', 'a': 'y'} | dictsort(by='value') }} {{ {} | dictsort }}
{{ words | unique | list }} {{ words | unique(true) | list }} {{ [1, 1.0, true, 2] | unique | list }} {{ people | unique(attribute='age') | map(attribute='name') | list }} {{ 'abab' | unique | join }}
{{ l | min }} {{ l | max }} {{ words | min }} {{ words | max }} {{ words | max(true) }} {{ people | max(attribute='age') | attr('x') is undefined }} {{ (people | min(attribute='age')).name }} {{ empty | min }}| {{ 'hello' | max }}
{{ l | sum }} {{ people | sum('age') }} {{ people | sum(attribute='age', start=100) }} {{ empty | sum }} {{ [0.1, 0.2] | sum }} {{ [[1], [2]] | sum(start=[]) }}
{{ [1,2,3,4,5] | batch(2) | list }} {{ [1,2,3,4,5] | batch(2, 'x') | list }} {{ [1,2,3,4,5] | slice(2) | list }} {{ [1,2,3,4,5] | slice(3, 'x') | list }} {{ [] | batch(2) | list }} {{ [] | slice(2) | list }}
{{ d | items | list }} {{ missing | items | list }} {{ {} | items | list }}
{{ l | map('string') | list }} {{ words | map('upper') | join(' ') }} {{ people | map(attribute='city.zip', default='-') | list }} {{ words | map('replace', 'a', 'X') | list }} {{ nested | map('first') | list }} {{ l | map('default', 5) | list }} {{ missing | map('upper') | list }} {{ words | map('truncate', 3, true, '') | list }} {{ people | map(attribute='age') | sum }}
{{ l | select('odd') | list }} {{ l | reject('odd') | list }} {{ mixed | select | list }} {{ mixed | reject | list }} {{ l | select('gt', 1) | list }} {{ l | select('in', [1, 2]) | list }} {{ mixed | select('string') | list }} {{ l | reject('equalto', 2) | list }} {{ l | select('divisibleby', 3) | list }} {{ missing | select | list }}
{{ people | selectattr('age', 'equalto', 30) | map(attribute='name') | list }} {{ people | selectattr('city') | map(attribute='name') | list }} {{ people | rejectattr('city') | map(attribute='name') | list }} {{ people | rejectattr('age', 'lt', 30) | map(attribute='name') | join(',') }} {{ people | selectattr('city', 'defined') | list | length }} {{ messages | selectattr('role', '==', 'user') | list | length }}
{% for g in people | groupby('age') %}{{ g.grouper }}={{ g.list | map(attribute='name') | join('+') }};{% endfor %} {% for k, v in people | groupby('age') %}{{ k }}{{ v | length }}{% endfor %} {{ words | groupby('0') | list | length }} {% for k, v in words | groupby(0) %}{{ k }}:{{ v }} {% endfor %} {{ [{'a': 1}, {'b': 2}] | groupby('a', default=0) }}
{{ l | map('string') is iterable }} {{ l | map('string') is sequence }} {{ l | select is string }} {% set g = l | map('string') %}{{ g | list }}{{ g | list }} {% if empty | select %}truthy{% endif %}"""

FILTERS_NUMBER = """{{ -5 | abs }} {{ (-5) | abs }} {{ (-2.5) | abs }} {{ true | abs }} {{ '5' | int }} {{ ' 12 ' | int }} {{ '3.7' | int }} {{ 'x' | int }} {{ 'x' | int(9) }} {{ 3.9 | int }} {{ -3.9 | int }} {{ none | int }} {{ 'ff' | int(0, 16) }} {{ '0xff' | int(base=16) }} {{ '0b11' | int(0, 2) }} {{ true | int }} {{ '1e3' | int }} {{ [] | int(4) }} {{ '1_000' | int }} {{ '' | int }}
{{ '2.5' | float }} {{ 'x' | float }} {{ 'x' | float(1.5) }} {{ 3 | float }} {{ none | float }} {{ 'inf' | float }} {{ 'nan' | float }} {{ '1e400' | float }} {{ ' -1.5e2 ' | float }} {{ '.5' | float }} {{ '5.' | float }}
{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 42.55 | round(1, 'floor') }} {{ 42.51 | round(1, 'ceil') }} {{ 42 | round }} {{ 1234.5 | round(-2) }} {{ 1250 | round(-2) }} {{ 0.5 | round }} {{ -1.5 | round }} {{ 1.005 | round(2) }} {{ 5 | round(1, 'ceil') }} {{ 42.55 | round | int }}
{{ missing | default('d') }} {{ nil | default('d') }} {{ e | default('d', true) }} {{ e | default('d') }}| {{ missing | d }}| {{ deep.q | default(1) }} {{ 0 | d(5, boolean=true) }} {{ missing | default(nil) }}
{{ 'abc' | attr('upper') is callable }} {{ {'a': 1} | attr('a') is undefined }} {{ d | attr('items') is callable }} {{ namespace(q=5) | attr('q') }}
{{ 1 | filesizeformat }} {{ 500 | filesizeformat }} {{ 1500 | filesizeformat }} {{ 1500 | filesizeformat(true) }} {{ 1e9 | filesizeformat }} {{ '2000000' | filesizeformat }} {{ 1048576 | filesizeformat(true) }}"""

TESTS = """{{ t is boolean }} {{ 1 is boolean }} {{ range is callable }} {{ s is callable }} {{ missing is callable }} {{ s.upper is callable }} {{ n is defined }} {{ missing is defined }} {{ missing is undefined }} {{ missing is not defined }} {{ 10 is divisibleby 5 }} {{ 10 is divisibleby(3) }} {{ 4 is even }} {{ 4 is odd }} {{ 3.0 is odd }} {{ true is odd }}
{{ 1 is eq 1 }} {{ 1 is eq(1.0) }} {{ 1 is equalto 2 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is le 1 }} {{ 2 is gt 1 }} {{ 2 is ge 3 }} {{ 1 is lessthan 2 }} {{ 2 is greaterthan 1 }} {{ 'a' is in 'abc' }} {{ 2 is in [1, 2] }} {{ 2 is not in [1] }}
{{ no is false }} {{ t is true }} {{ 0 is false }} {{ 1 is true }} {{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ 'nope' is test }} {{ 1.0 is float }} {{ 1 is float }} {{ 1 is integer }} {{ true is integer }} {{ 1.5 is integer }}
{{ l is iterable }} {{ s is iterable }} {{ n is iterable }} {{ d is iterable }} {{ missing is iterable }} {{ nil is iterable }} {{ 'abc' is lower }} {{ 'aBc' is lower }} {{ 'ABC' is upper }} {{ 5 is upper }} {{ d is mapping }} {{ l is mapping }} {{ missing is mapping }} {{ nil is none }} {{ n is none }} {{ missing is none }}
{{ n is number }} {{ t is number }} {{ s is number }} {{ f is number }} {{ l is sameas l }} {{ [1] is sameas [1] }} {{ none is sameas none }} {{ t is sameas true }} {{ 1 is sameas true }} {{ d is sameas d }} {{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ n is sequence }} {{ missing is sequence }} {{ range(2) is sequence }} {{ d.items() is sequence }} {{ (1,) is sequence }}
{{ s is string }} {{ n is string }} {{ missing is string }} {{ n is not string }} {{ 5 is number and 5 is odd }} {{ not 5 is odd }} {{ 5 is odd or missing is defined }} {{ 'x' if n is odd else 'y' }} {{ (n is odd) is true }} {{ html is escaped }} {{ (html | e) is escaped }}"""

STATEMENTS = [
    "{% if n %}a{% endif %}{% if zero %}b{% else %}c{% endif %}{% if zero %}1{% elif e %}2{% elif s %}3{% else %}4{% endif %}",
    "{% if missing %}a{% elif deep.q is defined %}b{% else %}c{% endif %}",
    "{% if l and d and not empty %}ok{% endif %}{% if empty or ed or nil %}bad{% endif %}",
    "{% for x in l %}{{ x }},{% endfor %}{% for x in empty %}{{ x }}{% else %}none{% endfor %}{% for x in missing %}{{ x }}{% else %}undef{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'abc' %}[{{ c }}]{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3)), (4, (5, 6))] %}{{ a }}{{ b }}{{ c }} {% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}no{% endfor %}{% for x in l if x > 10 %}{{ x }}{% else %}no{% endfor %}",
    "{% for x in l %}{{ loop.index }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }} {{ loop.length }} {{ loop.depth }} {{ loop.depth0 }}\n{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.previtem is defined }} {{ loop.nextitem is defined }}|{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}{% for x in [1,2] %}{{ loop.changed(x, 1) }}{% endfor %}",
    "{% for x in l | map('string') %}{{ x }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [1, 2, 3] %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{{ loop.index }}{% endfor %}",
    "{% for x in [1] %}{% break %}{% else %}else{% endfor %}{% for x in [1,2] %}{{ x }}{% continue %}never{% else %}else{% endfor %}",
    "{% for n in tree recursive %}{{ n.v }}@{{ loop.depth }}{% if n.c %}({{ loop(n.c) }}){% endif %}{{ ',' if not loop.last }}{% endfor %}",
    "{% for n in tree recursive %}[{{ n.v }}{{ loop(n.c) }}]{% else %}-{% endfor %}",
    "{% for n in tree if n.v != 3 recursive %}{{ n.v }}{{ loop(n.c) }};{% endfor %}",
    "{% for x in [1, 2] %}{% set outer = loop %}{% for y in 'ab' %}{{ outer.index }}{{ y }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in l %}{% set found = x %}{% endfor %}{{ found is defined }}{% set found = 0 %}{% for x in l %}{% set found = x %}{% endfor %}{{ found }}",
    "{% set ns = namespace(total=0, seen=[]) %}{% for x in l %}{% set ns.total = ns.total + x %}{% set ns.seen = ns.seen + [x] %}{% endfor %}{{ ns.total }} {{ ns.seen }} {{ ns.nope }}|",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{% set ns.c = 3 %}{{ ns.c }}{{ ns['a'] }}",
    "{% set a = 1 %}{% set b, c = 2, 3 %}{% set d2 = a + b, c %}{{ a }}{{ b }}{{ c }}{{ d2 }}{% set (x, y) = [5, 6] %}{{ x }}{{ y }}",
    "{% set x %}block {{ n }}{% endset %}[{{ x }}]{% set y | upper %}abc{% endset %}{{ y }}{% set z | replace('a', 'b') | trim %}  aaa {% endset %}[{{ z }}]",
    "{% if t %}{% set inner = 5 %}{% endif %}{{ inner }}{% if no %}{% set never = 5 %}{% endif %}{{ never is defined }}",
    "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}{% with a=1, b=2 %}{{ a + b }}{% endwith %}{% with a = n, b = a %}{{ a }}{{ b }}|{% endwith %}",
    "{% set a = 1 %}{% with a = 2 %}{{ a }}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}",
    "{% filter upper %}abc {{ s }}{% endfilter %}{% filter replace('a', 'x') | upper %}banana{% endfilter %}{% filter indent(2) %}a\nb{% endfilter %}",
    "{% filter trim %}{% set q = 1 %} {{ q }} {% endfilter %}{{ q is defined }}",
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c='y') }} {{ m(a=5, b=6) }} {{ m() }}|{{ m(1, b=none) }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}",
    "{% macro m() %}{{ varargs }} {{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }} {{ m() }}",
    "{% macro m(a) %}{{ a }}{{ varargs | join('-') }}{% for k, v in kwargs.items() %}{{ k }}{{ v }}{% endfor %}{% endmacro %}{{ m(1, 2, 3, z=4) }}",
    "{% macro fact(n) %}{{ 1 if n < 2 else n * (fact(n - 1) | int) }}{% endmacro %}{{ fact(10) }}",
    "{% macro outer() %}{% macro inner(x) %}<{{ x }}>{% endmacro %}{{ inner(1) }}{{ inner(2) }}{% endmacro %}{{ outer() }}{{ inner is defined }}",
    "{% macro m() %}{{ later }}{% endmacro %}{% set later = 'L' %}{{ m() }}{% set later = 'M' %}{{ m() }}",
    "{% macro m() %}{% set n = 99 %}{{ n }}{% endmacro %}{{ n }}{{ m() }}{{ n }}",
    "{% macro box(t) %}[{{ t }}:{{ caller() }}]{% endmacro %}{% call box('x') %}body {{ n }}{% endcall %}",
    "{% macro each(l) %}{% for x in l %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(v, i) each(l) %}{{ i }}={{ v }};{% endcall %}",
    "{% macro each(l) %}{% for x in l %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(v, w='d') each('ab') %}{{ v }}{{ w }}{% endcall %}",
    "{% macro m(caller=none) %}{{ caller() if caller else 'none' }}{% endmacro %}{{ m() }}{% call m() %}c{% endcall %}",
    "{% macro m() %}x{% endmacro %}{{ m.name }} {{ m.arguments }} {{ m.catch_kwargs }} {{ m.catch_varargs }} {{ m.caller }}{% macro k(a, b) %}{{ kwargs }}{{ caller }}{% endmacro %}{{ k.arguments }}{{ k.catch_kwargs }}{{ k.caller }}",
    "{% macro m() %}  x  {% endmacro %}[{{ m() }}][{{ m() | trim }}]{{ m() is string }}{{ m() ~ 'y' }}{{ m is callable }}{{ m }}",
    "{% macro a(x) %}{{ b(x) }}{% endmacro %}{% macro b(x) %}b{{ x }}{% endmacro %}{{ a(1) }}",
    "{% for x in [1,2] %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}{{ m is defined }}",
    "{{ '%s%s' % (1, 2) }}{{ dict(a=1, b=2) }}{{ dict([('x', 1)]) }}{{ dict({'a': 1}, b=2) }}{{ dict() }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}{% set j = joiner('; ') %}{{ j() }}x{{ j() }}y{{ j() }}{% set k = joiner() %}{{ k() }}{{ k() }}",
    "{% set args = [1, 2] %}{% macro m(a, b, c=0) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*args) }}{{ m(*args, c=3) }}{{ m(**{'a': 7, 'b': 8}) }}{{ m(1, *[2], **{'c': 4}) }}",
    "{% print n %}{% print n, s %}",
    "{% block b %}in {{ n }}{% set q = 1 %}{% endblock %}{{ q is defined }}{% set top = 5 %}{% block c %}{{ top }}{% endblock c %}",
    "{% generation %}x{{ n }}{% set g = 1 %}{% endgeneration %}{{ g is defined }}",
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.role }}{% endif %}{% endfor %}",
    "{% autoescape false %}{{ html }}{% endautoescape %}",
    "{# comment #}a{# multi\nline {{ x }} {% if %} #}b{#- trimmed -#}  c{##}d",
    "{% raw %}{{ not }} {% parsed %} {# here #}{% endraw %}x{%- raw -%}  a  {%- endraw -%}  y",
    "{% raw %}\n  a\n{% endraw %}\nb {% raw -%}\n z\n{%- endraw %}",
    "{{ messages[0].content | trim }}{% for m in messages[1:] %}{{ m['role'] }}:{{ m.content }}\n{% endfor %}{{ messages[::-1][0].content }}{{ messages | length }}{{ messages[-1]['role'] }}",
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '\\n' }}{% endfor %}",
    "{% for x in l %}{{ x }}{% set loop_x = loop %}{% endfor %}{% for x in l %}{% if loop.first %}{{ loop.nextitem }}{% endif %}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }} {% endfor %}{{ x }}",
    "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 2 %}{{ n }}",
    "{{ n }}{% for i in [1] %}{{ n }}{% endfor %}{% set n = 2 %}{{ n }}",
    "{% if t %}{{ n }}{% set n = 3 %}{% endif %}{{ n }}",
    "{% if no %}{% set n = 3 %}{% endif %}{{ n }}",
    "{% if no %}{% set n = 3 %}{% else %}{% set n = 4 %}{% endif %}{{ n }}",
    "{% for i in [1, 2] %}{% if i == 2 %}{{ v }}{% endif %}{% set v = i %}{% endfor %}",
    "{% for x in l %}{% for x in 'ab' %}{{ x }}{% endfor %}{{ x }}{% endfor %}",
    "{% set a, b = b0, 1 %}{{ a is defined }}{{ b }}",
    "{% macro m(x) %}{% if x %}{% set r = 'yes' %}{% endif %}{{ r }}{% endmacro %}{{ m(1) }}{{ m(0) }}",
    "{% set f = s.upper %}{{ f() }}{% set g = d.get %}{{ g('a') }}{{ [s.lower][0]() }}",
    "{{ raise_exception is callable }}{{ range(0, 10, 4) | list }}{{ range(5, 0, -2) | list }}{{ range(0) | list }}{{ range(-2, 2) | list }}",
    "{{ strftime_now is callable }}{{ strftime_now('%Y') | length }}",
    "{% if 'a' in d and d['a'] == 2 and (d.b == 1 or d.b == 5) %}y{% endif %}{{ 'x' in {'x': none} }}",
    "{{ (l + [4])[-1] }}{{ (s | upper)[0] }}{{ (n, f)[1] }}{{ [1,2,3][1:][0] }}{{ {'a': {'b': 1}}.a.b }}{{ 'abc'[1] }}{{ 'abc'[1:] | upper }}",
    "{{ l | join(',') | replace(',', ';') | upper | length }}{{ l|map('string')|map('upper')|join }}",
    "{% for i in range(3) -%}\n  {{ i }}\n{%- endfor %}",
    "{%+ if t %}a{%+ endif %}", "{% set x = 5 -%}  {{ x }}  {%- set x = 6 %}  {{ x }}",
    "{{ loop is defined }}{% for x in [1] %}{{ loop is defined }}{{ loop }}{% endfor %}",
    "{% for x in [1,2,3] %}{{ loop | length }}{% endfor %}",
    "{% set items = {'a': 1} %}{% for k, v in items | items %}{{ k }}{{ v }}{% endfor %}{% for k, v in items | dictsort %}{{ k }}{{ v }}{% endfor %}",
    "{{ 'a' if n is defined and n is number else 'b' }}{{ (n if n > 5 else 5) + 1 }}{{ 'x' ~ ('y' if t else 'z') ~ 'w' }}",
    "{{ [1, 2, 3,] }}{{ {'a': 1,} }}{{ (1, 2,) }}{{ range(3,) | list }}",
    "{{ s | default('x') | upper }}{{ (missing or {}).get('a', 'b') }}{{ missing.get if missing else 'none' }}",
    "{{ deep.x.y | last | attr('keys') is callable }}{{ deep.x['y'][1]['z'] }}{{ deep['x'].y.0 }}",
    "{% set _p = 1 %}{{ _p }}{% set __q = 2 %}{{ __q }}", "{{ caller is defined }}{{ varargs is defined }}",
    "{{ 1 if missing else 2 }}{{ missing == missing2 }}{{ missing == none }}{{ missing != 1 }}{{ missing in [missing2] }}",
    "{{ 1.5|int }}{{ '7'|int + 1 }}{{ 7|string + '1' }}{{ '1' * 3 }}{{ ['a', 'b'] | string }}",
    "{{- n -}}  x  {{- n }} {{ n -}}  y", "a {%- if t %} b {% endif -%} c", "{%- for x in l -%} {{ x }} {%- endfor -%}",
]

WHITESPACE = [
    "a\n{% if t %}\nb\n{% endif %}\nc\n", "a\n  {% if t %}\n  b\n  {% endif %}\nc\n", "a\n  {%- if t %}\n  b\n  {%- endif %}\nc\n",
    "a\n  {% if t -%}\n  b\n  {% endif -%}\nc\n", "  {% if t %}x{% endif %}  \ny", "x {% if t %} y {% endif %} z", "x\n\n{% if t %}\n\ny{% endif %}\n\nz\n\n",
    "  {{ n }}  \n  {{ n }}\n", "\n{{ n }}\n\n", "{{ n }}\n", "{{ n }}\n\n", "\n\n{% set x = 1 %}\n\n{{ x }}", "a\r\nb\r{{ n }}\r\n",
    "a\n\t{% if t %}\n\tb\n\t{% endif %}\n", "a\n  {%+ if t %}\nb{% endif %}", "a{% if t +%}\nb{% endif +%}\nc", "{% if t %}\n{% endif %}\n{% if t %}\n{% endif %}\nx",
    "  {# c #}\nx", "a\n  {# c #}\n  b", "a {# c #}\nb", "a\n  {#- c -#}\n  b", "a {#+ c #}\nb", "{# c +#}\nb", "x{# a #}{# b #}y\n",
    "{{ n -}}\n\n  a", "a  \n\n{{- n }}", "a\n{{- n -}}\nb", "{%- if t -%}\n a \n{%- endif -%}\n b", "a\n   {%- set x = 1 -%}\n   b",
    "{% for x in l %}\n  - {{ x }}\n{% endfor %}\nend\n", "{% for x in l -%}\n  - {{ x }}\n{% endfor -%}\nend\n", "{% for x in l %}\n{% if x > 1 %}\n  {{ x }}\n{% endif %}\n{% endfor %}",
    "  {% raw %}  \n  {{ x }}\n  {% endraw %}\ny", "a\n  {% raw %}b{% endraw %}\n  c", "{% raw -%}   b   {%- endraw %}", "{%- raw %} a {% endraw -%}  b",
    "a {{ '  x  ' }} b", "  {% macro m() %}\n  x\n  {% endmacro %}\n[{{ m() }}]", "\u00a0\u3000{%- if t %}x{% endif -%}\u00a0y", "a\x0b{% if t %}b{% endif %}",
    "\n  {% if t %}x{% endif %}", "a\n {% if t %}\n {% if t %}\n  b\n {% endif %}\n {% endif %}\nc", "{%- set a = 1 -%}\n\n{%- set b = 2 -%}\n\n{{ a }}{{ b }}",
    "{%if t%}x{%endif%}{{n}}{{- n-}}{%-if t-%}y{%-endif-%}", "{% set x %}\n  a\n{% endset %}[{{ x }}]", "{% filter upper %}\n a\n{% endfilter %}\nb",
    "text only\n", "text only", "", "\n", "\n\n", " ", "{", "{ {", "}} %} #}", "{ % if % }", "a { b } c {d}", "{{ '}}' }}{{ '%}' }}{{ \"{{\" }}", "{{ {'a': {'b': 1}} }}", "{{ {'a':{}}}}",
    "{# {{ '#}' }}", "{{ [[1]] }}{{ ((1)) }}", "{{\n  n\n}}\n{%\n  if\n  t\n%}\nx\n{% endif %}",
]

ERRORS = [
    "{{ 1 + 2 ~ 3 + 4 }}", "{{ 2 + 3 | string }}", "{{ n is defined if t else 'k' }}", "{{ people | selectattr('city.zip', 'undefined') | list | length }}",
    "{{ missing.x }}", "a\nb\n{{ missing.x }}", "{{ deep.q.r }}", "\n{{ deep['q']['r'] }}", "{{ missing() }}", "{{ missing + 1 }}", "{{ 1 + missing }}", "{{ -missing }}", "{{ missing < 1 }}", "{{ missing[0] }}",
    "{{ nil.x.y }}", "{{ n.x.y }}", "{{ l.x.y }}", "{{ l[9].y }}", "{{ ed.x.y }}", "{{ namespace().x.y }}", "{{ missing | int }}", "{{ missing | float }}", "{{ missing | dictsort }}", "{{ d.q() }}", "{{ missing[1:] }}", "{{ missing % 2 }}",
    "{{ raise_exception('boom') }}", "line\n\n{% if t %}\n{{ raise_exception('bad ' ~ n) }}\n{% endif %}", "{% macro m() %}\n{{ raise_exception('in macro') }}\n{% endmacro %}\n\n{{ m() }}",
    "{% for x in l %}\n{% if loop.last %}\n{{ raise_exception('last') }}\n{% endif %}\n{% endfor %}",
    "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.0 / 0 }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [1] + 'a' }}", "{{ 'a' - 'b' }}", "{{ 'a' < 1 }}", "{{ [1] < ['a'] }}", "{{ none < 1 }}", "{{ 1 in 5 }}", "{{ 1 in 'abc' }}", "{{ {[1]: 2} }}", "{{ 'a' * 'b' }}", "{{ 1.5 * 'a' }}", "{{ -'a' }}",
    "{{ n() }}", "{{ s.upper }}{{ s.upper(1) }}", "{{ s() }}", "{{ 'x'.nope() }}", "{{ 'a'.split('') }}", "{{ 'a'.index('b') }}", "{{ '%d' % 'a' }}", "{{ '%s %s' % ('a',) }}", "{{ '%s' % ('a', 'b') }}", "{{ '%q' % 1 }}", "{{ '{}'.format() }}", "{{ '{x}'.format(y=1) }}", "{{ '{:d}'.format('a') }}", "{{ ','.join([1]) }}",
    "{{ l.append(4) }}", "{{ l.pop.x }}" if False else "{{ l.extend([1]) }}", "{{ d.update({'a': 1}) }}", "{{ d.pop('a') }}", "{{ d.clear() }}", "{{ l.sort() }}", "{{ d.setdefault('a', 1) }}", "{{ s.__class__.x }}", "{{ s.__class__() }}", "{{ l.append }}|{{ s.__class__ }}|{{ l.insert is defined }}",
    "{% for x in n %}{% endfor %}", "{% for a, b in l %}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for a, b, c in [(1, 2)] %}{% endfor %}", "{% set a, b = 1 %}", "{% set x.y = 1 %}", "{% set d.z = 1 %}", "{% set missing.z = 1 %}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}", "{% for x in l %}{{ loop(x) }}{% endfor %}", "{{ range(1000000) }}", "{{ range(1, 5, 0) }}", "{{ range('a') }}",
    "{{ n | length }}", "{{ l | map('string') | length }}", "{{ 5 | first }}", "{{ 5 | list }}", "{{ ['a', 1] | sort }}", "{{ l | batch }}", "{{ [[1]] | unique | list }}", "{{ s | sum }}", "{{ range | tojson }}", "{{ missing | tojson }}", "{{ {(1, 2): 3} | tojson }}", "{{ l | map('nope') | list }}", "{{ l | map | list }}", "{{ l | select('nope') | list }}", "{{ s | round }}", "{{ d | dictsort(by='x') }}", "{{ 5 | items | list }}", "{{ 1.5 | round(0, 'x') }}", "{{ {'a b': 1} | xmlattr }}", "{{ l | groupby('a.b') }}", "{{ 'a' | truncate(2) }}", "{{ 'abc' | wordwrap(0) }}", "{{ nil | sum }}", "{{ l | join(',', attribute='x.y') }}", "{{ 'x' is divisibleby 2 }}", "{{ l | attr }}", "{{ s | upper(1) }}", "{{ l | default(1, 2, 3) }}", "{{ 'abc' | abs }}",
    "{{ s[1:2:0] }}", "{{ s['a':] }}", "{{ d[1:] }}", "{{ n[1:] }}", "{{ l[1:2, 3] }}|{{ d[1, 2] }}", "{{ '\\u12' }}", "{{ '\\x' }}",
    "{{", "{{ n", "{{ n }", "{%", "{% if", "{% if t %}", "{% if t %}a{% else %}", "{% for x in l %}", "{% for x %}{% endfor %}", "{% for in l %}{% endfor %}", "{% endif %}", "{% endfor %}", "a\n{% nope %}", "{% if t %}{% endfor %}", "{% for x in l %}{% endif %}{% endfor %}", "{% if t %}{% for x in l %}{% endif %}{% endfor %}", "{% else %}", "{% elif t %}", "{% set %}", "{% set x %}", "{% set 1 = 2 %}", "{% set 'a' = 2 %}", "{% set x.y.z = 2 %}", "{% set a.b, c = 1, 2 %}", "{% set true = 2 %}", "{% set f() = 2 %}", "{% set loop = 1 %}ok", "{% for x in l %}{% set loop = 1 %}{% endfor %}", "{% for loop in l %}{{ loop }}{% endfor %}",
    "{{ }}", "{{ 1 + }}", "{{ * 2 }}", "{{ a b }}", "{{ (1 }}", "{{ [1 }}", "{{ {1 }}", "{{ 1) }}", "{{ [1) }}", "{{ 'abc }}", "{{ \"a' }}", "{{ a. }}", "{{ a.'b' }}", "{{ a[ }}", "{{ a[] }}x", "{{ a| }}", "{{ a|1 }}", "{{ a is }}", "{{ a is 1 }}", "{{ a is b is c }}", "{{ n if }}", "{{ ? }}", "{{ a $ b }}", "{{ a ! b }}", "{{ a && b }}", "{{ 1 = 1 }}", "{{ a = 1 }}", "{{ f(a=1, 2) }}", "{{ f(**a, 1) }}", "{{ f(*a, *b) }}", "{{ f(a=) }}", "{{ {1: 2, 3} }}", "{{ [1 2] }}", "{{ not }}", "{{ 1 not 2 }}", "{{ lambda: 1 }}", "{{ a ; b }}", "{{ 1.x }}", "{{ a.1.b }}" if False else "{{ 1a }}",
    "{{ s | nope }}", "{{ s is nope }}", "\n\n{{ s | nope(1) }}", "{% if no %}{{ s | nope }}{% endif %}ok", "{% if t %}\n{{ s | nope }}{% endif %}", "{{ (s | nope) if no else 'ok' }}", "{% if no %}{{ s is nope }}{% endif %}ok", "{% if t %}{{ s is nope }}{% endif %}", "{% for x in [1] %}{% if no %}{% for y in [1] %}{{ s | nope }}{% endfor %}{% endif %}{% endfor %}",
    "{% macro %}{% endmacro %}", "{% macro m %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m(1) %}{% endmacro %}", "{% macro m() %}", "{% call n %}{% endcall %}", "{% call %}{% endcall %}", "{% filter %}{% endfilter %}", "{% filter nope %}{% endfilter %}", "{% with a %}{% endwith %}", "{% with a=1 b=2 %}{% endwith %}", "{% raw %}abc", "{# abc", "x{#", "{% break %}", "{% continue %}", "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "{% do x %}", "{% trans %}{% endtrans %}", "{% debug %}", "{% block %}{% endblock %}", "{% block a-b %}{% endblock %}", "{% block a %}{% endblock b %}", "{% generation %}", "{% if t %}a{% else %}b{% else %}c{% endif %}", "{% for x in l %}a{% else %}b{% else %}c{% endfor %}", "{% macro m(caller) %}{{ caller() }}{% endmacro %}", "{% for x in l recursive %}{{ loop }}{% endfor %}{{ loop.index }}",
    "{{ 'é' ? }}", "{% if t %}\n\n{{ 1 +\n }}\n{% endif %}", "{{ a['b' }}", "{{ '\\N{BULLET}' }}" if False else "{{ x.y.z }}", "{%- endmacro -%}", "{% 5 %}", "{% 'a' %}", "{{ {} | xmlattr.foo }}", "{{ a.b.c|upper }}", "{{ 2 ** 300 }}" if False else "{{ 0 ** -1 }}", "{{ (0 - 8) ** 0.5 > 1 }}", "{{ [] | max | upper }}|", "{{ ([] | first).x }}", "{{ (1 if no).x }}", "{{ 'only' if no }}{{ ('only' if no) + 'x' }}", "{% for x in l %}{{ loop.previtem.a }}{% endfor %}", "{% for x in [1] %}{{ loop.nextitem + 1 }}{% endfor %}", "{% for x in [1] %}{{ loop.cycle() }}{% endfor %}", "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}", "{{ cycler() }}", "{{ dict(1) }}", "{{ dict(1, 2) }}", "{{ namespace(1) }}", "{{ strftime_now() }}", "{{ raise_exception() }}", "{{ ({}).items(1) }}", "{{ d.get() }}", "{{ l.index(99) }}", "{{ 'a'.center(5, 'xy') }}", "{{ 'a'.startswith(1) }}", "{{ 'a'.replace('a') }}", "{{ 'abc'.format_map({'a': 1}) }}{{ '{a}'.format_map({'a': 1}) }}",
]


def split_lines(name, block):
    """One snippet per line, then one per expression: a failure names the expression."""
    return [(f"{name} {i}", line) for i, line in enumerate(block.split("\n"))]


def all_snippets():
    named = []
    for name, block in [("values", VALUES), ("arithmetic", ARITHMETIC), ("lookups", LOOKUPS), ("string methods", STRING_METHODS),
                        ("text filters", FILTERS_TEXT), ("json", FILTERS_JSON), ("sequence filters", FILTERS_SEQUENCE),
                        ("number filters", FILTERS_NUMBER), ("tests", TESTS)]:
        named += split_lines(name, block)
    for name, group in [("statements", STATEMENTS), ("whitespace", WHITESPACE), ("errors", ERRORS)]:
        named += [(f"{name} {i}", template) for i, template in enumerate(group)]
    return named
