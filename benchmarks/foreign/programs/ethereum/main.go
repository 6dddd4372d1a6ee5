// Command ethereum advances go-ethereum's state by blocks, as a node does that follows a chain: it
// decodes a block's 150 transactions from RLP, changes balances, nonces and the storage of a
// token, computes the new root, and commits the state to the trie database over Pebble on disk.
//
// The state has 60000 accounts.
package main

import (
	"bytes"
	"fmt"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"
	"github.com/holiman/uint256"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const accounts, transactions = 60_000, 150

// chain is a state that advances.
type chain struct {
	db     state.Database
	tries  *triedb.Database
	root   common.Hash
	number uint64
	token  common.Address
	all    []common.Address
	blocks [][]byte // bodies in RLP; the stream repeats them
}

func (c *chain) rules() params.Rules {
	return params.MergedTestChainConfig.Rules(new(big.Int).SetUint64(c.number), true, c.number*12)
}

// slot is where a token's contract keeps the balance of an account.
func slot(a common.Address) common.Hash {
	return crypto.Keccak256Hash(common.LeftPadBytes(a.Bytes(), 32), common.LeftPadBytes([]byte{1}, 32))
}

func before() load.Op {
	log.SetDefault(log.NewLogger(log.DiscardHandler()))
	var err error
	if dir, err = os.MkdirTemp("", "ethereum"); err != nil {
		panic(err)
	}
	kv, err := pebble.New(dir, 64, 256, "", false)
	if err != nil {
		panic(err)
	}
	disk := rawdb.NewDatabase(kv)
	c := &chain{root: types.EmptyRootHash, token: common.BytesToAddress([]byte("token"))}
	c.tries = triedb.NewDatabase(disk, &triedb.Config{PathDB: pathdb.Defaults})
	c.db = state.NewDatabase(c.tries, state.NewCodeDB(disk))
	for i := range accounts {
		c.all = append(c.all, common.BytesToAddress(crypto.Keccak256(fmt.Appendf(nil, "account %d", i))))
	}
	c.genesis()
	c.bodies()
	return c.block
}

func (c *chain) genesis() {
	s, err := state.New(c.root, c.db)
	if err != nil {
		panic(err)
	}
	s.SetNonce(c.token, 1, tracing.NonceChangeUnspecified)
	s.SetCode(c.token, bytes.Repeat([]byte{0x60, 0x01, 0x50}, 2000), tracing.CodeChangeUnspecified)
	for i, a := range c.all {
		s.AddBalance(a, uint256.NewInt(1e18), tracing.BalanceChangeUnspecified)
		if i%2 == 0 {
			s.SetState(c.token, slot(a), common.BigToHash(big.NewInt(1e15)))
		}
	}
	c.commit(s)
}

// bodies makes the transactions of blocks; every third is a transfer of tokens.
func (c *chain) bodies() {
	for b := range 40 {
		var all types.Transactions
		for i := range transactions {
			n := b*transactions + i
			to := c.all[n*7919%accounts]
			tx := &types.DynamicFeeTx{ChainID: big.NewInt(1), Nonce: uint64(n), GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(3e10),
				Gas: 21000, To: &to, Value: big.NewInt(int64(1 + n)), V: big.NewInt(1), R: big.NewInt(int64(1e17 + n)), S: big.NewInt(int64(1e16 + n))}
			if n%3 == 0 {
				tx.To, tx.Gas, tx.Value = &c.token, 60000, new(big.Int)
				tx.Data = append(append([]byte{0xa9, 0x05, 0x9c, 0xbb}, common.LeftPadBytes(to.Bytes(), 32)...), common.LeftPadBytes([]byte{byte(1 + n%200)}, 32)...)
			}
			all = append(all, types.NewTx(tx))
		}
		body, err := rlp.EncodeToBytes(&types.Body{Transactions: all})
		if err != nil {
			panic(err)
		}
		c.blocks = append(c.blocks, body)
	}
}

// block executes the i-th block.
func (c *chain) block(i int) {
	var body types.Body
	if err := rlp.DecodeBytes(c.blocks[i%len(c.blocks)], &body); err != nil {
		panic(err)
	}
	s, err := state.New(c.root, c.db)
	if err != nil {
		panic(err)
	}
	for n, tx := range body.Transactions {
		from := c.all[(i*104_729+n*31)%accounts]
		s.SetTxContext(tx.Hash(), n, 0)
		s.SetNonce(from, s.GetNonce(from)+1, tracing.NonceChangeEoACall)
		s.SubBalance(from, uint256.NewInt(21000), tracing.BalanceChangeTransfer)
		if *tx.To() == c.token {
			c.transfer(s, from, common.BytesToAddress(tx.Data()[4:36]), tx.Data()[67])
		} else {
			s.AddBalance(*tx.To(), uint256.MustFromBig(tx.Value()), tracing.BalanceChangeTransfer)
		}
		s.Finalise(c.rules())
	}
	c.commit(s)
}

// transfer moves tokens, as the contract's code would.
func (c *chain) transfer(s *state.StateDB, from, to common.Address, amount byte) {
	snapshot := s.Snapshot()
	have := s.GetState(c.token, slot(from)).Big()
	if have.Cmp(big.NewInt(int64(amount))) < 0 {
		s.RevertToSnapshot(snapshot)
		return
	}
	s.SetState(c.token, slot(from), common.BigToHash(have.Sub(have, big.NewInt(int64(amount)))))
	target := s.GetState(c.token, slot(to)).Big()
	s.SetState(c.token, slot(to), common.BigToHash(target.Add(target, big.NewInt(int64(amount)))))
}

func (c *chain) commit(s *state.StateDB) {
	root := s.IntermediateRoot(c.rules())
	c.number++
	committed, err := s.Commit(c.rules(), c.number)
	if err != nil {
		panic(err)
	}
	if root != committed {
		panic(fmt.Sprintf("block %d: root %x, committed %x", c.number, root, committed))
	}
	c.root = committed
}

// dir has the files; they go when the process ends.
var dir string

func main() {
	load.Main(load.Sample{Ops: 150, Before: before})
	os.RemoveAll(dir)
}
