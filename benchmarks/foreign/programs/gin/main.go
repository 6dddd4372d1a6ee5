// Command gin serves a JSON API of 20,000 orders with gin.
//
// It has middleware for logs, panics, request IDs and tokens. Of ten requests seven read an order,
// two list a customer's orders, and one places an order.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	orders    = 20_000 // in the store at the start
	customers = 2_000
	token     = "Bearer 7d1f0c5e6b"
)

type order struct {
	ID       int    `json:"id"`
	Customer int    `json:"customer" binding:"required,min=1"`
	Currency string `json:"currency" binding:"required,len=3"`
	Note     string `json:"note" binding:"max=200"`
	Lines    []line `json:"lines" binding:"required,min=1,dive"`
	Status   string `json:"status"`
}

type line struct {
	SKU      string  `json:"sku" binding:"required"`
	Quantity int     `json:"quantity" binding:"gte=1"`
	Price    float64 `json:"price" binding:"gt=0"`
}

func newOrder(i int) *order {
	o := &order{Customer: i%customers + 1, Currency: "EUR", Note: fmt.Sprintf("leave it at door %d", i), Status: "paid"}
	for k := range i%5 + 1 {
		o.Lines = append(o.Lines, line{SKU: fmt.Sprintf("SKU-%06d", (i+k*977)%50_000), Quantity: k + 1, Price: float64(100+i%900) / 4})
	}
	return o
}

// store is the application's data. Each customer has the same number of orders: a new order takes
// the place and the ID of the oldest, so that the store keeps its size.
type store struct {
	mu         sync.RWMutex
	byID       map[int]*order
	byCustomer map[int][]*order
}

func newStore() *store {
	s := &store{byID: map[int]*order{}, byCustomer: map[int][]*order{}}
	for i := range orders {
		o := newOrder(i)
		o.ID = i + 1
		s.byID[o.ID] = o
		s.byCustomer[o.Customer] = append(s.byCustomer[o.Customer], o)
	}
	return s
}

func (s *store) add(o *order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.byCustomer[o.Customer]
	if len(list) == 0 {
		return fmt.Errorf("no customer %d", o.Customer)
	}
	o.ID = list[0].ID
	copy(list, list[1:])
	list[len(list)-1] = o
	s.byID[o.ID] = o
	return nil
}

func (s *store) find(id int) (*order, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.byID[id]
	return o, ok
}

func (s *store) list(customer int) []*order {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]*order(nil), s.byCustomer[customer]...)
}

func main() {
	load.Serve(load.Service{Ops: 40_000, Connections: 16, Start: start, Dial: dial})
}

func start(bool) (load.Server, error) {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.LoggerWithWriter(io.Discard), gin.Recovery(), requestID, authenticate)
	routes(router.Group("/v1"), newStore())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, router)
	return load.Server{Address: "http://" + l.Addr().String() + "/v1"}, nil
}

func requestID(c *gin.Context) {
	id := c.GetHeader("X-Request-ID")
	c.Set("request-id", id)
	c.Header("X-Request-ID", id)
	c.Next()
}

func authenticate(c *gin.Context) {
	if c.GetHeader("Authorization") != token {
		c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "a token is required"})
		return
	}
	c.Set("user", "web")
	c.Next()
}

func routes(api *gin.RouterGroup, s *store) {
	api.GET("/orders/:id", func(c *gin.Context) {
		id, err := strconv.Atoi(c.Param("id"))
		if err != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		if o, ok := s.find(id); ok {
			c.JSON(http.StatusOK, o)
		} else {
			c.JSON(http.StatusNotFound, gin.H{"error": "no such order", "id": id})
		}
	})
	api.GET("/orders", func(c *gin.Context) {
		customer, err := strconv.Atoi(c.Query("customer"))
		if err != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		list := s.list(customer)
		c.JSON(http.StatusOK, gin.H{"orders": list, "count": len(list)})
	})
	api.POST("/orders", func(c *gin.Context) {
		var o order
		if err := c.ShouldBindJSON(&o); err != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		if err := s.add(&o); err != nil {
			c.JSON(http.StatusNotFound, gin.H{"error": err.Error()})
			return
		}
		c.JSON(http.StatusCreated, gin.H{"id": o.ID, "status": "accepted"})
	})
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}} // a connection of its own
	return func(i int) error {
		r, want, err := request(address, i)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", token)
		r.Header.Set("X-Request-ID", "r-"+strconv.Itoa(i))
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != want {
			err = fmt.Errorf("%s: %s: %s", r.URL, answer.Status, text)
		}
		return err
	}, nil
}

// request returns the i-th request and the status that its answer must have.
func request(address string, i int) (r *http.Request, want int, err error) {
	switch i % 10 {
	case 9:
		text, err := json.Marshal(newOrder(i))
		if err != nil {
			return nil, 0, err
		}
		r, err = http.NewRequest("POST", address+"/orders", bytes.NewReader(text))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
		}
		return r, http.StatusCreated, err
	case 4, 8:
		r, err = http.NewRequest("GET", fmt.Sprintf("%s/orders?customer=%d", address, i*7919%customers+1), nil)
	default:
		r, err = http.NewRequest("GET", fmt.Sprintf("%s/orders/%d", address, i*7919%orders+1), nil)
	}
	return r, http.StatusOK, err
}
