// sarama in the course of tests/clients/transactions. A group's session gives each partition to a goroutine of its own,
// and the producer has one transaction at a time: they take turns. What was aborted is tried again at once, as long as
// the partition is its own.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"trackway.test/clients/adapter"
)

// Retries are for as long as a broker takes to come back.
const (
	retries      = 300
	retryBackoff = 100 * time.Millisecond
)

func committedOnly() *sarama.Config {
	cfg := config()
	cfg.Consumer.IsolationLevel = sarama.ReadCommitted
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cfg.Consumer.Offsets.AutoCommit.Enable = false
	cfg.Metadata.Retry.Max, cfg.Metadata.Retry.Backoff = retries, retryBackoff
	return cfg
}

func (c client) Transform(ctx context.Context, t *adapter.Transform) error {
	producer, err := c.producer(t)
	if err != nil {
		return err
	}
	t.Ready()
	groupConfig := committedOnly()
	groupConfig.Consumer.Group.Session.Timeout = adapter.SessionTimeout
	groupConfig.Consumer.Group.Heartbeat.Interval = adapter.HeartbeatInterval
	consumers, err := sarama.NewConsumerGroup(c.brokers, t.Group, groupConfig)
	if err != nil {
		return err
	}
	run := &transforming{Transform: t, producer: producer}
	for ctx.Err() == nil && run.failure == nil {
		if err := consumers.Consume(ctx, []string{t.Input}, run); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "join: %v\n", err) // the broker may be away
			time.Sleep(adapter.RetryPause)
		}
	}
	if run.failure != nil {
		return run.failure
	}
	return errors.Join(consumers.Close(), producer.Close())
}

func (c client) producer(t *adapter.Transform) (sarama.SyncProducer, error) {
	cfg := committedOnly()
	cfg.Producer.Idempotent = true
	cfg.Net.MaxOpenRequests = 1
	cfg.Producer.RequiredAcks = sarama.WaitForAll
	cfg.Producer.Return.Successes = true
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	cfg.Producer.Retry.Max, cfg.Producer.Retry.Backoff = retries, retryBackoff
	cfg.Producer.Transaction.ID = t.TransactionalID
	cfg.Producer.Transaction.Timeout = t.TransactionTimeout
	cfg.Producer.Transaction.Retry.Max, cfg.Producer.Transaction.Retry.Backoff = retries, retryBackoff
	return sarama.NewSyncProducer(c.brokers, cfg)
}

func (c client) Producer(t *adapter.Transform) (adapter.Transaction, error) {
	producer, err := c.producer(t)
	return &transaction{producer: producer, output: t.Output}, err
}

// transforming is the handler of all generations.
type transforming struct {
	*adapter.Transform
	producer sarama.SyncProducer
	turn     sync.Mutex
	failure  error // what the producer cannot go on from
}

func (t *transforming) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (t *transforming) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (t *transforming) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		batch := []*sarama.ConsumerMessage{message}
		for more := true; more && len(batch) < adapter.MostRecords; {
			select {
			case message, more = <-claim.Messages():
				if more {
					batch = append(batch, message)
				}
			default:
				more = false
			}
		}
		for committed := false; !committed; {
			if session.Context().Err() != nil {
				return nil
			}
			var err error
			if committed, err = t.transact(session, batch); err != nil {
				return err // ends the session
			}
		}
	}
	return nil
}

func (t *transforming) transact(session sarama.ConsumerGroupSession, batch []*sarama.ConsumerMessage) (bool, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	if t.failure != nil {
		return false, t.failure
	}
	records := make([]adapter.Record, len(batch))
	for i, m := range batch {
		records[i] = adapter.Record{Partition: m.Partition, Offset: m.Offset, Value: string(m.Value)}
	}
	metadata := sarama.NewConsumerGroupMetadataFromSession(session, t.Group, nil)
	committed, err := t.Transact(records, &transaction{t.producer, t.Output, batch[len(batch)-1], metadata})
	t.failure = err
	return committed, err
}

type transaction struct {
	producer sarama.SyncProducer
	output   string
	last     *sarama.ConsumerMessage // of what was read, if anything was
	metadata *sarama.ConsumerGroupMetadata
}

func (t *transaction) Begin() error { return t.producer.BeginTxn() }

func (t *transaction) Write(values []adapter.Copy) error {
	messages := make([]*sarama.ProducerMessage, len(values))
	for i, v := range values {
		messages[i] = &sarama.ProducerMessage{Topic: t.output, Partition: v.Partition, Value: sarama.StringEncoder(v.Value)}
	}
	return t.producer.SendMessages(messages)
}

// End follows the producer's state, as the library asks for: what is fatal ends it, what is abortable is to be aborted,
// and anything else is to be tried again.
func (t *transaction) End(commit bool) (bool, error) {
	if commit && t.last != nil {
		// The library sends the offsets with the commit.
		if err := t.producer.AddMessageToTxnWithGroupMetadata(t.last, t.metadata, nil); err != nil {
			fmt.Fprintf(os.Stderr, "offsets: %v\n", err)
			commit = false
		}
	}
	for {
		end := t.producer.AbortTxn
		if commit {
			end = t.producer.CommitTxn
		}
		err := end()
		if err == nil {
			return commit, nil
		}
		fmt.Fprintf(os.Stderr, "end: %v\n", err)
		switch status := t.producer.TxnStatus(); {
		case status&sarama.ProducerTxnFlagFatalError != 0:
			return false, err
		case status&sarama.ProducerTxnFlagAbortableError != 0:
			commit = false
		}
	}
}

func (c client) IsFenced(err error) bool {
	return errors.Is(err, sarama.ErrProducerFenced) || errors.Is(err, sarama.ErrInvalidProducerEpoch)
}

func (c client) Follow(ctx context.Context, f adapter.Follow, emit func(adapter.Record) error) error {
	cfg := committedOnly()
	if !f.CommittedOnly {
		cfg.Consumer.IsolationLevel = sarama.ReadUncommitted
	}
	consumer, err := sarama.NewConsumer(c.brokers, cfg)
	if err != nil {
		return err
	}
	defer consumer.Close()
	messages := make(chan *sarama.ConsumerMessage)
	for id := range f.Partitions {
		partition, err := consumer.ConsumePartition(f.Topic, int32(id), sarama.OffsetOldest)
		if err != nil {
			return err
		}
		go forward(ctx, partition.Messages(), messages)
	}
	for {
		select {
		case m := <-messages:
			if err := emit(adapter.Record{Partition: m.Partition, Offset: m.Offset, Value: string(m.Value)}); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
