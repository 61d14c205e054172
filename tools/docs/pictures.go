package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// colours is how many a picture of the pages has. Screens are flat, so few are missed.
const colours = 32

// picture returns where the server has a picture, which is made smaller for the pages. Its pair in the
// other theme is taken along.
func (s *site) picture(p *page, link string) string {
	file := path.Join(path.Dir(p.File), link)
	if s.exists(p, link, file) == nil {
		return link
	}
	name := s.addPicture(file)
	if pair := darkOf(file); pair != file {
		if _, err := os.Stat(filepath.Join(s.root, pair)); err == nil {
			s.addPicture(pair)
		}
	}
	return "/docs/" + name
}

// darkOf returns the dark one of a pair of pictures, or the file itself if it is of no pair.
func darkOf(file string) string {
	if name, ok := strings.CutSuffix(file, "-light"+path.Ext(file)); ok {
		return name + "-dark" + path.Ext(file)
	}
	return file
}

// addPicture keeps a picture and returns its name.
func (s *site) addPicture(file string) string {
	name := "pictures/" + path.Base(file)
	if s.beside[name] != nil {
		return name
	}
	data, err := os.ReadFile(filepath.Join(s.root, file))
	if err == nil && path.Ext(file) == ".png" {
		data, err = smaller(data)
	}
	if err != nil {
		s.fault(file, "%v", err)
	}
	s.beside[name] = data
	return name
}

// smaller returns a PNG with few colours.
func smaller(data []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	count := map[color.RGBA]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	palette := medianCut(count, colours)
	nearest := map[color.RGBA]uint8{}
	out := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	var small bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	err = e.Encode(&small, out)
	return small.Bytes(), err
}

// A box is some of a picture's colours.
type box []color.RGBA

// medianCut returns a palette: the most frequent colours as they are, and one for each part of the rest.
func medianCut(count map[color.RGBA]int, n int) color.Palette {
	all := make(box, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return key(a) - key(b)
	})
	var palette color.Palette
	exact := min(n/2, len(all))
	for _, c := range all[:exact] {
		palette = append(palette, c)
	}
	if len(all) == exact {
		return palette
	}
	boxes := []box{all[exact:]}
	for len(boxes) < n-exact {
		widest := 0
		for i := range boxes {
			if spread, _ := boxes[i].widest(); spread > first(boxes[widest].widest()) {
				widest = i
			}
		}
		spread, channel := boxes[widest].widest()
		if spread == 0 {
			break
		}
		of := boxes[widest]
		slices.SortFunc(of, func(a, b color.RGBA) int {
			if d := channelOf(a, channel) - channelOf(b, channel); d != 0 {
				return d
			}
			return key(a) - key(b)
		})
		boxes[widest] = of[:len(of)/2]
		boxes = append(boxes, of[len(of)/2:])
	}
	for _, of := range boxes {
		palette = append(palette, of.mean(count))
	}
	return palette
}

func first(a, _ int) int { return a }

func key(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

func channelOf(c color.RGBA, i int) int { return [...]int{int(c.R), int(c.G), int(c.B)}[i] }

// widest returns how far the colours of a box are apart, and in which channel.
func (b box) widest() (spread, channel int) {
	for i := range 3 {
		low, high := 255, 0
		for _, c := range b {
			low, high = min(low, channelOf(c, i)), max(high, channelOf(c, i))
		}
		if high-low > spread {
			spread, channel = high-low, i
		}
	}
	return spread, channel
}

func (b box) mean(count map[color.RGBA]int) color.RGBA {
	var sum [3]int
	n := 0
	for _, c := range b {
		k := count[c]
		n += k
		for i := range sum {
			sum[i] += k * channelOf(c, i)
		}
	}
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255}
}
