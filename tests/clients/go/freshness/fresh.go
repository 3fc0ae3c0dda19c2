package main

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const createFresh = `CREATE TABLE fresh (
	id BIGINT NOT NULL PRIMARY KEY,
	version BIGINT NOT NULL,
	tag VARCHAR(40) NOT NULL,
	UNIQUE KEY fresh_tag (tag),
	KEY fresh_version (version)
)`

// keysPerWorker rows are rewritten in turn, so that rows and partitions vary while the table stays small.
const keysPerWorker = 64

// fresh runs the workers; each owns its keys, so that the value a read must return is known exactly.
func fresh(first, second *node, t *tally) error {
	if _, err := first.pool.Exec(createFresh); err != nil {
		return err
	}
	started := time.Now()
	var group sync.WaitGroup
	for worker := range *workers {
		share := *count / *workers
		if worker < *count%*workers {
			share++
		}
		group.Add(1)
		go func() {
			defer group.Done()
			if err := freshWorker(first, second, worker, share, t); err != nil {
				t.failed("worker %d: %v", worker, err)
			}
		}()
	}
	group.Wait()
	elapsed := time.Since(started).Seconds()
	fmt.Printf("       %d writes read back in %.1f s (%.0f/s), write and read p50 %v p99 %v max %v, %d retries\n",
		len(t.latencies), elapsed, float64(len(t.latencies))/elapsed,
		t.percentile(0.5), t.percentile(0.99), t.percentile(1), t.retryCount)
	if len(t.latencies) != *count && t.failureCount == 0 {
		t.failed("only %d of %d writes were made", len(t.latencies), *count)
	}
	return nil
}

func freshWorker(first, second *node, worker, share int, t *tally) error {
	nodes := [2]*session{}
	for i, node := range []*node{first, second} {
		session, err := node.session()
		if err != nil {
			return err
		}
		defer session.close()
		nodes[i] = session
	}
	keys := map[int64]keyState{}
	latencies := make([]time.Duration, 0, share)
	defer func() { t.add(latencies) }()
	for i := range share {
		// Half of the writes go through each node, and every key is written through both in turn.
		writer, reader := nodes[i%2], nodes[1-i%2]
		key := int64(worker)*1_000_000 + int64(i/2%keysPerWorker)
		started := time.Now()
		if err := freshWrite(writer, reader, key, keys, i, t); err != nil {
			return fmt.Errorf("write through %s, read through %s: %w", writer.node.address, reader.node.address, err)
		}
		latencies = append(latencies, time.Since(started))
	}
	return nil
}

// keyState is what a key must look like. The version goes on rising over deletes, so that no old row passes for a new one.
type keyState struct {
	version int64
	exists  bool
}

// freshWrite makes one write and looks at it through the other node in one of several ways.
func freshWrite(writer, reader *session, key int64, keys map[int64]keyState, turn int, t *tally) error {
	known, used := keys[key]
	if !used {
		// Versions of different keys never meet, so that the lookup by version finds one row.
		known.version = key * 1_000_000_000
	}
	version := known.version + 1
	tag := fmt.Sprintf("%d-%d", key, version)
	where := fmt.Sprintf("key %d, turn %d", key, turn)
	switch {
	case !known.exists:
		if err := writer.exec("INSERT INTO fresh (id, version, tag) VALUES (?, ?, ?)", key, version, tag); err != nil {
			if temporary(err) {
				t.retried()
				return freshWrite(writer, reader, key, keys, turn, t)
			}
			return err
		}
	case turn%101 == 100:
		if err := writer.retry(t, "DELETE FROM fresh WHERE id = ?", key); err != nil {
			return err
		}
		keys[key] = keyState{known.version, false}
		var found int64
		err := reader.query("SELECT version FROM fresh WHERE id = ?", []any{key}, &found)
		if err == nil {
			t.failed("%s: deleted through %s, still there through %s", where, writer.node.address, reader.node.address)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return nil
	default:
		if err := writer.retry(t, "UPDATE fresh SET version = ?, tag = ? WHERE id = ?", version, tag, key); err != nil {
			return err
		}
	}
	keys[key] = keyState{version, true}
	var found int64
	var how string
	var err error
	switch turn % 16 {
	case 13:
		how = "unique key"
		err = reader.query("SELECT version FROM fresh WHERE tag = ?", []any{tag}, &found)
	case 14:
		how = "secondary key"
		err = reader.query("SELECT version FROM fresh WHERE version = ?", []any{version}, &found)
	case 15:
		how = "range"
		err = reader.query("SELECT MAX(version) FROM fresh WHERE id BETWEEN ? AND ?", []any{key, key}, &found)
	default:
		how = "primary key"
		err = reader.query("SELECT version FROM fresh WHERE id = ?", []any{key}, &found)
	}
	if errors.Is(err, sql.ErrNoRows) {
		t.failed("%s: version %d written through %s, no row by %s through %s",
			where, version, writer.node.address, how, reader.node.address)
		return nil
	}
	if err != nil {
		return err
	}
	if found != version {
		t.failed("%s: version %d written through %s, version %d read by %s through %s",
			where, version, writer.node.address, found, how, reader.node.address)
	}
	return nil
}
