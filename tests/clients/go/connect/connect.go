// Package connect opens connections for the Go client programs: over TCP or a unix socket, with TLS or without, and
// remembers whether the connection really is encrypted.
//
// The server's certificate is self-signed, so it is not verified; that TLS is used at all is verified by each program.
package connect

import (
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Options say how to reach a server; FromFlags fills them from the command line.
type Options struct {
	Host     string
	Port     int
	Socket   string
	User     string
	Password string
	TLS      string
}

// FromFlags declares the flags common to all programs. Read the options after flag.Parse.
func FromFlags() *Options {
	options := &Options{}
	flag.StringVar(&options.Host, "host", "127.0.0.1", "server host")
	flag.IntVar(&options.Port, "port", 3306, "server port")
	flag.StringVar(&options.Socket, "socket", "", "unix socket, instead of host and port")
	Credentials(options)
	return options
}

// Credentials declares the flags of a program that takes its addresses otherwise.
func Credentials(options *Options) {
	flag.StringVar(&options.User, "user", "root", "user")
	flag.StringVar(&options.Password, "password", "", "password")
	flag.StringVar(&options.TLS, "tls", "required", "required or off")
}

// Address returns a copy of the options for "host:port" or the path of a unix socket.
func (options Options) Address(address string) (Options, error) {
	if strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".") {
		options.Socket = address
		return options, nil
	}
	colon := strings.LastIndex(address, ":")
	if colon < 0 {
		return options, fmt.Errorf("address %q is neither host:port nor the path of a socket", address)
	}
	options.Host, options.Socket = address[:colon], ""
	_, err := fmt.Sscanf(address[colon+1:], "%d", &options.Port)
	return options, err
}

// handshakes counts the TLS handshakes completed by all connections of this process.
var handshakes atomic.Int64

// Handshakes returns how many TLS handshakes this process has completed.
func Handshakes() int64 { return handshakes.Load() }

// Open returns a pool for the database (which may be empty). change, if not nil, adjusts the driver's configuration.
func (options Options) Open(database string, change func(*mysql.Config)) (*sql.DB, error) {
	connector, err := options.Connector(database, change)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Connector is Open for programs that hold single connections of the driver, without a pool.
func (options Options) Connector(database string, change func(*mysql.Config)) (driver.Connector, error) {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = options.User, options.Password, database
	config.Net, config.Addr = "tcp", fmt.Sprintf("%s:%d", options.Host, options.Port)
	if options.Socket != "" {
		config.Net, config.Addr = "unix", options.Socket
	}
	config.ParseTime = true
	config.Loc = time.UTC
	config.Timeout = 20 * time.Second
	// A server that hangs costs a check this long, not the whole run.
	config.ReadTimeout = 60 * time.Second
	config.WriteTimeout = 60 * time.Second
	config.Params = map[string]string{"time_zone": "'+00:00'"}
	switch options.TLS {
	case "required":
		config.TLS = &tls.Config{
			InsecureSkipVerify: true,
			VerifyConnection: func(tls.ConnectionState) error {
				handshakes.Add(1)
				return nil
			},
		}
	case "off":
	default:
		return nil, fmt.Errorf("-tls must be required or off, not %q", options.TLS)
	}
	if change != nil {
		change(config)
	}
	return mysql.NewConnector(config)
}
