package main

import (
	"fmt"
	"math/bits"
	"time"
)

// Steps for each doubling: a percentile is at most 1/32 above the truth.
const histogramSteps = 32

// histogram counts durations by their logarithm, so that recording neither allocates nor forgets. Owned by one session;
// merged when all are done.
type histogram struct {
	counts [histogramSteps * 40]uint32
	count  int64
	max    time.Duration
}

func (h *histogram) add(duration time.Duration) {
	h.counts[histogramIndex(duration)]++
	h.count++
	h.max = max(h.max, duration)
}

// histogramIndex: below histogramSteps ns each has its own place; then the highest bits count.
func histogramIndex(duration time.Duration) int {
	value := uint64(max(duration, 0))
	shift := max(bits.Len64(value)-bits.Len64(histogramSteps), 0)
	return min(shift*histogramSteps+int(value>>shift), len(histogram{}.counts)-1)
}

// histogramEnd is the longest duration with that index.
func histogramEnd(index int) time.Duration {
	if index < 2*histogramSteps {
		return time.Duration(index)
	}
	shift := index/histogramSteps - 1
	return time.Duration((uint64(index-shift*histogramSteps)+1)<<shift - 1)
}

func (h *histogram) merge(other *histogram) {
	for index, count := range other.counts {
		h.counts[index] += count
	}
	h.count += other.count
	h.max = max(h.max, other.max)
}

func (h *histogram) percentile(part float64) time.Duration {
	rank := int64(part * float64(h.count))
	for index, count := range h.counts {
		if rank -= int64(count); rank < 0 {
			return min(histogramEnd(index), h.max)
		}
	}
	return h.max
}

func (h *histogram) String() string {
	return fmt.Sprintf("p50 %s p99 %s max %s", milliseconds(h.percentile(0.5)), milliseconds(h.percentile(0.99)),
		milliseconds(h.max))
}

func milliseconds(duration time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(duration)/float64(time.Millisecond))
}
