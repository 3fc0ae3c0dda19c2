package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const memorySampleInterval = 100 * time.Millisecond

// memory follows the resident size of some processes.
type memory struct {
	pids  []int
	mutex sync.Mutex
	// now and max are in KiB, one for each process; max is since forgetMax.
	now, max []int
}

func newMemory(pids string) (*memory, error) {
	m := &memory{}
	for _, pid := range strings.FieldsFunc(pids, func(letter rune) bool { return letter == ',' }) {
		number, err := strconv.Atoi(pid)
		if err != nil {
			return nil, fmt.Errorf("-pids: %w", err)
		}
		m.pids = append(m.pids, number)
	}
	m.now, m.max = make([]int, len(m.pids)), make([]int, len(m.pids))
	return m, nil
}

// sample looks until it is to stop. A process that has ended is an error.
func (m *memory) sample(stop *atomic.Bool) func() error {
	return func() error {
		for !stop.Load() {
			for i, pid := range m.pids {
				resident, err := residentKiB(pid)
				if err != nil {
					return fmt.Errorf("process %d has ended: %w", pid, err)
				}
				m.mutex.Lock()
				m.now[i], m.max[i] = resident, max(m.max[i], resident)
				m.mutex.Unlock()
			}
			time.Sleep(memorySampleInterval)
		}
		return nil
	}
}

func residentKiB(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}

func (m *memory) forgetMax() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	copy(m.max, m.now)
}

func (m *memory) String() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	parts := make([]string, len(m.pids))
	for i := range m.pids {
		parts[i] = fmt.Sprintf("%d MiB (at most %d)", m.now[i]>>10, m.max[i]>>10)
	}
	return strings.Join(parts, ", ")
}
