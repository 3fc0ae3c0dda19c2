package main

import (
	"math/bits"
	"math/rand/v2"
)

// random makes the values of clause 4.3.2 and 2.1.6.
type random struct {
	*rand.Rand
	scale scale
	// lastC, customerC and itemC are the constants C of NURand for this use.
	lastC, customerC, itemC int
}

// Streams of random values. The constant C of last names differs between load and run (clause 2.1.6.1): by loadDelta,
// which is in 65 to 119 and neither 96 nor 112.
const (
	constantsStream = iota
	loadStream
	runStream
)

const loadDelta = 85

func newRandom(s scale, stream, number int) *random {
	constants := rand.New(rand.NewPCG(*seed, constantsStream))
	lastC, customerC, itemC := constants.IntN(256-loadDelta), constants.IntN(1024), constants.IntN(8192)
	if stream == runStream {
		lastC += loadDelta
	}
	return &random{rand.New(rand.NewPCG(*seed, uint64(stream)<<32+uint64(number))), s, lastC, customerC, itemC}
}

// between is uniform, both bounds included.
func (r *random) between(low, high int) int { return low + r.IntN(high-low+1) }

func (r *random) nuRand(a, c, low, high int) int {
	// The A of a full table is too large for a small one.
	if small := 1<<bits.Len(uint((high-low+1)/3)) - 1; small < a {
		a = small
	}
	return (r.between(0, a)|r.between(low, high)+c)%(high-low+1) + low
}

func (r *random) customer() int { return r.nuRand(1023, r.customerC, 1, r.scale.customers) }
func (r *random) item() int     { return r.nuRand(8191, r.itemC, 1, r.scale.items) }

// lastNames is how many last names a district has: 1,000, of which each has a customer.
func (s scale) lastNames() int { return min(s.customers, 1000) }

func (r *random) lastName() string {
	return lastName(r.nuRand(255, r.lastC, 0, r.scale.lastNames()-1))
}

var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// lastName has a syllable for each digit of a number up to 999.
func lastName(number int) string {
	return syllables[number/100] + syllables[number/10%10] + syllables[number%10]
}

const (
	letters      = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	digits       = "0123456789"
	stateLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func (r *random) string(alphabet string, low, high int) string {
	made := make([]byte, r.between(low, high))
	for i := range made {
		made[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(made)
}

func (r *random) alphanumeric(low, high int) string { return r.string(letters, low, high) }

// data is i_data or s_data: one in ten has "ORIGINAL" at a random place.
func (r *random) data() string {
	text := r.alphanumeric(26, 50)
	if r.IntN(10) == 0 {
		at := r.IntN(len(text) - len("ORIGINAL") + 1)
		text = text[:at] + "ORIGINAL" + text[at+len("ORIGINAL"):]
	}
	return text
}

func (r *random) zip() string { return r.string(digits, 4, 4) + "11111" }
