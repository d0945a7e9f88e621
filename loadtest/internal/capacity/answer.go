package capacity

import "math"

// Names of stations that may bind.
const (
	OfArrivals = "arrivals"          // buyers come no faster
	OfShard    = "hottest shard"     // of Redis: a sale stays on one
	OfDisk     = "stream's disk"     // hand-overs are synced one after the other
	OfLeader   = "stream's leader"   // its CPU
	OfPostgres = "Postgres"          // the one that writes
	OfGateways = "gateways"          // sized so that they do not bind
	OfWorkers  = "workers"           // sized so that they keep up, or Postgres binds
	OfRedis    = "Redis, all shards" // sized so that they do not bind
)

// Station is one kind of process in an answer.
type Station struct {
	Name      string  `json:"name"`
	Count     int     `json:"count"`
	Cores     int     `json:"cores_each"`
	PerSecond float64 `json:"operations_per_second"`
	Busy      float64 `json:"busy_cores"`        // of all together, while it goes on
	Wait      float64 `json:"mean_wait_seconds"` // before one of its servers is free
	Seconds   float64 `json:"seconds_for_all"`   // that its part of the work takes, if nothing else held it up
	Formula   string  `json:"formula"`           // of the wait
}

// Answer says what a demand takes.
type Answer struct {
	Demand     Demand    `json:"demand"`
	Attempts   float64   `json:"attempts"`
	PerSecond  float64   `json:"attempts_per_second"`
	Scripts    float64   `json:"attempts_that_reach_the_script"`
	Together   float64   `json:"reservations_in_a_hand_over"`
	Messages   float64   `json:"hand_overs"`
	Gateways   int       `json:"gateways"`
	Shards     int       `json:"redis_shards"`
	Servers    int       `json:"nats_servers"`
	Workers    int       `json:"workers"`
	Stations   []Station `json:"stations"`
	Accepting  float64   `json:"seconds_until_the_last_202"`
	UntilLast  float64   `json:"seconds_until_the_last_order"`
	Binds      string    `json:"binds"`      // the station that the last order waits for
	CoreHours  float64   `json:"core_hours"` // of an hour of all that is planned, but for Redis's replicas and Postgres's standby
	OrderBytes float64   `json:"order_bytes"`
}

// planned is an answer that is being made.
type planned struct {
	Answer
	d     Demand
	c     Costs
	times map[string]float64 // for all of its part of the work, by station
}

// Plan answers a demand that Check has passed, at the costs measured.
func Plan(d Demand, c Costs) Answer {
	p := planned{d: d, c: c, Answer: Answer{Demand: d, Attempts: d.Buyers * d.AttemptsPerBuyer, PerSecond: d.perSecond(), Scripts: d.scripts(),
		Servers: d.Replicas, OrderBytes: c.BytesPerOrder * d.Units}}
	if d.Message == 0 {
		p.d.Message = c.Message
	}
	// How many gateways there are decides how many reservations a hand-over has, that how fast
	// units go, and that how often buyers poll meanwhile. It settles soon; of two numbers of
	// gateways that alternate the larger is taken.
	p.Gateways = 1
	for range 100 {
		before := p.Gateways
		p.rates()
		p.Gateways = p.gateways()
		if p.Gateways < before {
			p.Gateways = (before + p.Gateways) / 2
		}
	}
	p.rates()
	p.Gateways = max(p.Gateways, p.gateways())
	p.rates()
	p.conclude()
	return p.Answer
}

// rates computes how long each station takes for its part, at so many gateways.
func (p *planned) rates() {
	d, u := p.d, p.d.Utilisation
	// In a flood whoever comes while a message is under way travels in the next; the units
	// that there are may not fill one for each gateway and sale.
	pairs := float64(p.Gateways * d.Sales)
	p.Together = max(1, min(MaxTogether, p.PerSecond*d.Message, d.Units/pairs))
	p.Messages = d.Units / p.Together
	redis := (p.Scripts-d.Units)*p.c.Script[Redis] + d.Units*p.c.accept(Redis, p.Together) + d.Units*p.c.Order[Redis] + p.polls()*p.c.Poll[Redis]
	p.times = map[string]float64{
		OfArrivals: d.Units / p.PerSecond,
		OfDisk:     p.Messages * d.Message / u,
		OfLeader:   d.Units * (p.c.accept(NATS, p.Together) + p.c.Order[NATS]) / u,
		OfPostgres: d.Units * p.c.Order[Postgres] / float64(d.CoresOfPostgres) / u,
	}
	// Shards are for all attempts, and for the moments in which the units go: as many as keep
	// up with what else accepts, but more are no help to the hottest sale, which stays on one.
	others := max(p.times[OfArrivals], p.times[OfDisk], p.times[OfLeader])
	p.Shards = min(d.Sales, max(Servers(redis/d.Seconds, u), min(Servers(redis/others, u), Servers(1/d.Hottest, 1))))
	p.times[OfShard] = redis * max(d.Hottest, 1/float64(p.Shards)) / u
	p.times[OfRedis] = redis / float64(p.Shards) / u
	p.Accepting = max(p.times[OfArrivals], p.times[OfShard], p.times[OfDisk], p.times[OfLeader])
	p.UntilLast = max(p.Accepting, p.times[OfPostgres])
	p.Workers = Servers(p.orders()*p.c.Order[Workers]/float64(d.CoresPerWorker), u)
}

// polls are those of all who hold a ticket: each asks until it has its outcome, for half of the
// time until the last order on average, and once at least.
func (p *planned) polls() float64 {
	return p.d.Units * max(1, p.UntilLast/2/p.d.PollEvery)
}

// orders a second.
func (p *planned) orders() float64 { return p.d.Units / p.UntilLast }

// busyGateways are the cores that all gateways together need at the worst moment, and those
// that each of them needs beside, because it hears of every order.
func (p *planned) busyGateways() (together, each float64) {
	together = Busy(p.PerSecond, p.c.Refusal[Gateways]) + Busy((p.Scripts-p.d.Units)/p.Accepting, p.c.Script[Gateways]) +
		Busy(p.d.Units/p.Accepting, p.c.accept(Gateways, p.Together)) + Busy(p.polls()/p.UntilLast, p.c.Poll[Gateways])
	return together, Busy(p.orders(), p.c.Order[Gateways])
}

// gateways is how many are needed. Of the cores of each, at least a tenth is left for buyers:
// where every order tells all gateways faster than they can hear, more of them are no help.
func (p *planned) gateways() int {
	together, each := p.busyGateways()
	cores := float64(p.d.CoresPerGateway)
	return Servers(together/max(cores*p.d.Utilisation-each, cores*p.d.Utilisation/10), 1)
}

// conclude says what binds, and how busy each station is.
func (p *planned) conclude() {
	p.Binds = OfArrivals
	for _, name := range []string{OfShard, OfLeader, OfDisk, OfPostgres} { // of equals the later one, which is farther down the funnel
		if p.times[name] >= p.times[p.Binds] {
			p.Binds = name
		}
	}
	together, each := p.busyGateways()
	n, d := float64(p.Gateways), p.d
	gateway := together/n + each
	p.add(Station{Name: OfGateways, Count: p.Gateways, Cores: d.CoresPerGateway, PerSecond: p.PerSecond + p.polls()/p.UntilLast, Busy: gateway * n, Seconds: d.Seconds,
		Wait: WaitMMc(p.PerSecond/n, gateway*n/p.PerSecond, d.CoresPerGateway), Formula: "M/M/c"})
	all := p.Scripts / p.Accepting
	busy := p.times[OfShard] * d.Utilisation / p.Accepting
	p.add(Station{Name: OfShard, Count: 1, Cores: 1, PerSecond: all * max(d.Hottest, 1/float64(p.Shards)), Busy: busy, Seconds: p.times[OfShard], Wait: oneByOne(all*max(d.Hottest, 1/float64(p.Shards))/p.Together, busy, 1), Formula: "M/G/1, calls spread exponentially"})
	p.add(Station{Name: OfRedis, Count: p.Shards, Cores: 1, PerSecond: all, Busy: p.times[OfRedis] * d.Utilisation * float64(p.Shards) / p.Accepting, Seconds: p.times[OfRedis], Wait: 0, Formula: "as its hottest shard at worst"})
	messages := p.Messages / p.Accepting
	p.add(Station{Name: OfDisk, Count: 1, Cores: 1, PerSecond: messages, Busy: messages * d.Message, Seconds: p.times[OfDisk], Wait: oneByOne(messages, messages*d.Message, 0), Formula: "M/G/1, syncs alike"})
	p.add(Station{Name: OfLeader, Count: p.Servers, Cores: 1, PerSecond: d.Units / p.Accepting, Busy: p.times[OfLeader] * d.Utilisation / p.Accepting, Seconds: p.times[OfLeader], Wait: 0, Formula: "within the message's time"})
	p.add(Station{Name: OfWorkers, Count: p.Workers, Cores: d.CoresPerWorker, PerSecond: p.orders(), Busy: Busy(p.orders(), p.c.Order[Workers]), Seconds: p.UntilLast, Wait: 0, Formula: "the backlog is theirs"})
	p.add(Station{Name: OfPostgres, Count: 1, Cores: d.CoresOfPostgres, PerSecond: p.orders(), Busy: Busy(p.orders(), p.c.Order[Postgres]), Seconds: p.times[OfPostgres],
		Wait: WaitMMc(p.orders(), p.c.Order[Postgres], d.CoresOfPostgres), Formula: "M/M/c"})
	for _, s := range p.Stations {
		if s.Name != OfShard && s.Name != OfDisk { // part of all shards, and of the leader
			p.CoreHours += float64(s.Count * s.Cores)
		}
	}
}

// oneByOne is the wait at a server that is so busy with so many a second.
func oneByOne(perSecond, busy, variation float64) float64 {
	if perSecond == 0 {
		return 0
	}
	return WaitMG1(perSecond, min(busy, 0.99)/perSecond, variation) // it is never planned to be that busy
}

func (p *planned) add(s Station) {
	if math.IsInf(s.Wait, 0) || math.IsNaN(s.Wait) {
		s.Wait, s.Formula = 0, "more comes than it serves: no wait is stated"
	}
	p.Stations = append(p.Stations, s)
}
