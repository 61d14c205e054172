package text

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The characters that say how another one is drawn, or join two. Where they do, they are text.
const (
	joiner        = 0x200d
	nonJoiner     = 0x200c
	asText        = 0xfe0e
	asEmoji       = 0xfe0f
	keycap        = 0x20e3
	firstSkinTone = 0x1f3fb
	lastSkinTone  = 0x1f3ff
)

// joinedLeft and joinedRight are what stands before and behind a joiner in Unicode's emoji sequences (RGI, version 17).
const (
	joinedLeft = "\u2640\u2642\u26d3\u26f9\u2764\U0001f344\U0001f34b\U0001f3c3\U0001f3c4\U0001f3ca\U0001f3cb\U0001f3cc" +
		"\U0001f3f3\U0001f3f4\U0001f408\U0001f415\U0001f426\U0001f43b\U0001f441\U0001f466\U0001f467\U0001f468\U0001f469\U0001f46e" +
		"\U0001f46f\U0001f470\U0001f471\U0001f473\U0001f477\U0001f481\U0001f482\U0001f486\U0001f487\U0001f48b\U0001f575\U0001f62e" +
		"\U0001f635\U0001f636\U0001f642\U0001f645\U0001f646\U0001f647\U0001f64b\U0001f64d\U0001f64e\U0001f6a3\U0001f6b4\U0001f6b5" +
		"\U0001f6b6\U0001f91d\U0001f926\U0001f935\U0001f937\U0001f938\U0001f939\U0001f93c\U0001f93d\U0001f93e\U0001f9af\U0001f9b8" +
		"\U0001f9b9\U0001f9bc\U0001f9bd\U0001f9cd\U0001f9ce\U0001f9cf\U0001f9d1\U0001f9d2\U0001f9d4\U0001f9d6\U0001f9d7\U0001f9d8" +
		"\U0001f9d9\U0001f9da\U0001f9db\U0001f9dc\U0001f9dd\U0001f9de\U0001f9df"
	joinedRight = "\u2194\u2195\u2620\u2640\u2642\u2695\u2696\u26a7\u2708\u2744\u2764\u27a1" +
		"\u2b1b\U0001f308\U0001f32b\U0001f33e\U0001f373\U0001f37c\U0001f384\U0001f393\U0001f3a4\U0001f3a8\U0001f3eb\U0001f3ed" +
		"\U0001f466\U0001f467\U0001f468\U0001f469\U0001f48b\U0001f4a5\U0001f4a8\U0001f4ab\U0001f4bb\U0001f4bc\U0001f525\U0001f527" +
		"\U0001f52c\U0001f5e8\U0001f680\U0001f692\U0001f7e9\U0001f7eb\U0001f91d\U0001f9af\U0001f9b0\U0001f9b1\U0001f9b2\U0001f9b3" +
		"\U0001f9ba\U0001f9bc\U0001f9bd\U0001f9d1\U0001f9d2\U0001fa70\U0001fa79"
)

// At decodes the character of s at byte i and its size, and reports whether people do not see it there. Variation
// selectors and joiners within an emoji sequence, and joiners within words of scripts that need them, are text.
func At(s string, i int) (r rune, n int, hidden bool) {
	r, n = utf8.DecodeRuneInString(s[i:])
	return r, n, Hidden(r) && !isDrawn(s[:i], r, s[i+n:])
}

// isDrawn reports whether a hidden character changes how those next to it are drawn, as its writer meant it to.
func isDrawn(before string, r rune, after string) bool {
	switch r {
	case asText, asEmoji:
		prev, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		return isEmoji(prev) || r == asEmoji && next == keycap && strings.ContainsRune("0123456789#*", prev)
	case joiner:
		return isJoined(before, after) || isInWord(before, after)
	case nonJoiner:
		return isInWord(before, after)
	}
	return false
}

func isJoined(before, after string) bool {
	prev, n := utf8.DecodeLastRuneInString(before)
	if prev == asEmoji || prev >= firstSkinTone && prev <= lastSkinTone {
		prev, _ = utf8.DecodeLastRuneInString(before[:len(before)-n])
	}
	next, _ := utf8.DecodeRuneInString(after)
	return strings.ContainsRune(joinedLeft, prev) && strings.ContainsRune(joinedRight, next)
}

// isInWord reports whether both characters are of one script that writes words with joiners.
func isInWord(before, after string) bool {
	prev, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if prev < 0x600 || !unicode.In(prev, unicode.L, unicode.M) || !unicode.In(next, unicode.L, unicode.M) {
		return false
	}
	for _, script := range [...]*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
	} {
		if unicode.Is(script, prev) {
			return unicode.Is(script, next)
		}
	}
	return false
}

// isEmoji reports whether a character beyond ASCII has the property Emoji.
func isEmoji(r rune) bool {
	i := sort.Search(len(emoji), func(i int) bool { return emoji[i][1] >= r })
	return i < len(emoji) && emoji[i][0] <= r
}

// emoji has the property Emoji of Unicode 17, without ASCII. The pages' tests compare it with their browser's.
var emoji = [...][2]rune{
	{0xa9, 0xa9}, {0xae, 0xae}, {0x203c, 0x203c}, {0x2049, 0x2049}, {0x2122, 0x2122}, {0x2139, 0x2139},
	{0x2194, 0x2199}, {0x21a9, 0x21aa}, {0x231a, 0x231b}, {0x2328, 0x2328}, {0x23cf, 0x23cf}, {0x23e9, 0x23f3},
	{0x23f8, 0x23fa}, {0x24c2, 0x24c2}, {0x25aa, 0x25ab}, {0x25b6, 0x25b6}, {0x25c0, 0x25c0}, {0x25fb, 0x25fe},
	{0x2600, 0x2604}, {0x260e, 0x260e}, {0x2611, 0x2611}, {0x2614, 0x2615}, {0x2618, 0x2618}, {0x261d, 0x261d},
	{0x2620, 0x2620}, {0x2622, 0x2623}, {0x2626, 0x2626}, {0x262a, 0x262a}, {0x262e, 0x262f}, {0x2638, 0x263a},
	{0x2640, 0x2640}, {0x2642, 0x2642}, {0x2648, 0x2653}, {0x265f, 0x2660}, {0x2663, 0x2663}, {0x2665, 0x2666},
	{0x2668, 0x2668}, {0x267b, 0x267b}, {0x267e, 0x267f}, {0x2692, 0x2697}, {0x2699, 0x2699}, {0x269b, 0x269c},
	{0x26a0, 0x26a1}, {0x26a7, 0x26a7}, {0x26aa, 0x26ab}, {0x26b0, 0x26b1}, {0x26bd, 0x26be}, {0x26c4, 0x26c5},
	{0x26c8, 0x26c8}, {0x26ce, 0x26cf}, {0x26d1, 0x26d1}, {0x26d3, 0x26d4}, {0x26e9, 0x26ea}, {0x26f0, 0x26f5},
	{0x26f7, 0x26fa}, {0x26fd, 0x26fd}, {0x2702, 0x2702}, {0x2705, 0x2705}, {0x2708, 0x270d}, {0x270f, 0x270f},
	{0x2712, 0x2712}, {0x2714, 0x2714}, {0x2716, 0x2716}, {0x271d, 0x271d}, {0x2721, 0x2721}, {0x2728, 0x2728},
	{0x2733, 0x2734}, {0x2744, 0x2744}, {0x2747, 0x2747}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755},
	{0x2757, 0x2757}, {0x2763, 0x2764}, {0x2795, 0x2797}, {0x27a1, 0x27a1}, {0x27b0, 0x27b0}, {0x27bf, 0x27bf},
	{0x2934, 0x2935}, {0x2b05, 0x2b07}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x3030, 0x3030},
	{0x303d, 0x303d}, {0x3297, 0x3297}, {0x3299, 0x3299}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f170, 0x1f171},
	{0x1f17e, 0x1f17f}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f1e6, 0x1f1ff}, {0x1f201, 0x1f202},
	{0x1f21a, 0x1f21a}, {0x1f22f, 0x1f22f}, {0x1f232, 0x1f23a}, {0x1f250, 0x1f251}, {0x1f300, 0x1f321},
	{0x1f324, 0x1f393}, {0x1f396, 0x1f397}, {0x1f399, 0x1f39b}, {0x1f39e, 0x1f3f0}, {0x1f3f3, 0x1f3f5},
	{0x1f3f7, 0x1f4fd}, {0x1f4ff, 0x1f53d}, {0x1f549, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f56f, 0x1f570},
	{0x1f573, 0x1f57a}, {0x1f587, 0x1f587}, {0x1f58a, 0x1f58d}, {0x1f590, 0x1f590}, {0x1f595, 0x1f596},
	{0x1f5a4, 0x1f5a5}, {0x1f5a8, 0x1f5a8}, {0x1f5b1, 0x1f5b2}, {0x1f5bc, 0x1f5bc}, {0x1f5c2, 0x1f5c4},
	{0x1f5d1, 0x1f5d3}, {0x1f5dc, 0x1f5de}, {0x1f5e1, 0x1f5e1}, {0x1f5e3, 0x1f5e3}, {0x1f5e8, 0x1f5e8},
	{0x1f5ef, 0x1f5ef}, {0x1f5f3, 0x1f5f3}, {0x1f5fa, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cb, 0x1f6d2},
	{0x1f6d5, 0x1f6d8}, {0x1f6dc, 0x1f6e5}, {0x1f6e9, 0x1f6e9}, {0x1f6eb, 0x1f6ec}, {0x1f6f0, 0x1f6f0},
	{0x1f6f3, 0x1f6fc}, {0x1f7e0, 0x1f7eb}, {0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945},
	{0x1f947, 0x1f9ff}, {0x1fa70, 0x1fa7c}, {0x1fa80, 0x1fa8a}, {0x1fa8e, 0x1fac6}, {0x1fac8, 0x1fac8},
	{0x1facd, 0x1fadc}, {0x1fadf, 0x1faea}, {0x1faef, 0x1faf8},
}
