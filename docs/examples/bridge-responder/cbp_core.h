/*
 * The bridge's end of CBP v1 (docs/cbp.md). The core makes no operating-system call and allocates nothing: the firmware gives it bytes and the time, and takes bytes.
 *
 *   cbp_start      once, after a reset
 *   cbp_armed      what the SPI slave's transmit DMA has to send, CBP_MAX_N bytes
 *   cbp_cs_fell    chip select fell: the armed packet counts as sent
 *   cbp_cs_rose    chip select rose: what the receive DMA has got
 *   cbp_poll       from the main loop: executors, deadlines, the next packet
 *   cbp_data_ready the level of DRDY
 *
 * None of them blocks. Call them from one context, or keep the interrupt of chip select out while another runs.
 */
#ifndef CBP_CORE_H
#define CBP_CORE_H

#include "cbp_wire.h"

/* Largest transaction that this bridge takes. */
#ifndef CBP_MAX_N
#define CBP_MAX_N 256
#endif
#ifndef CBP_MAX_WINDOW
#define CBP_MAX_WINDOW 8
#endif
#ifndef CBP_MAX_ENDPOINTS
#define CBP_MAX_ENDPOINTS 8
#endif
/* Requests that an endpoint can owe an answer: those in flight, and those that came beyond and are refused. */
#define CBP_SLOTS 12
/* Response bytes of a streaming operation that are worth a frame. */
#define CBP_CHUNK 64
#define CBP_DESCRIPTOR 16
/* A response whose length is not known when it begins. */
#define CBP_UNKNOWN_LENGTH 0xFFFFFFFFu

enum { CBP_CLASS_SYS = 0x00, CBP_CLASS_GPIO = 0x01, CBP_CLASS_I2C = 0x02, CBP_CLASS_SPIX = 0x03 };
enum { CBP_PRIO_INTERACTIVE = 1, CBP_PRIO_NORMAL = 2, CBP_PRIO_BULK = 3 };
enum { CBP_FLAG_EVENTS = 1, CBP_FLAG_STREAMING = 2, CBP_FLAG_STORE = 4, CBP_FLAG_SAFE = 8 };
enum { CBP_RESET_POWER = 1, CBP_RESET_PIN = 2, CBP_RESET_WATCHDOG = 3, CBP_RESET_SOFTWARE = 4, CBP_RESET_FAULT = 5 };

typedef struct cbp_bridge cbp_bridge;
typedef struct cbp_endpoint cbp_endpoint;

/* What a class of endpoints does. Members other than `step` may be NULL. None may block. */
typedef struct {
  /* Goes on with the current request as far as it can without waiting; ends it with cbp_finish. */
  void (*step)(cbp_endpoint *ep, uint32_t now_us);
  /* Leaves the current request at a safe point of the bus. The core answers it. */
  void (*abort)(cbp_endpoint *ep);
  /* Default configuration. */
  void (*reset)(cbp_endpoint *ep, uint32_t now_us);
  /* The host is silent: outputs to their safe values. */
  void (*safe)(cbp_endpoint *ep, uint32_t now_us);
  /* What happens without a request. */
  void (*tick)(cbp_endpoint *ep, uint32_t now_us);
  /* Where the host names none; 0: the class calls cbp_deadline. */
  uint32_t default_deadline_ms;
} cbp_class;

typedef struct {
  const char *label;
  uint8_t class_id;
  uint8_t prio;
  uint8_t max_inflight; /* at most 8 */
  uint16_t flags;
  uint32_t max_xfer;
  const cbp_class *class_ops;
  void *device;
  /* Rings of the endpoint's own: requests, responses, events. */
  uint8_t *rx;
  uint16_t rx_window;
  uint8_t *tx;
  uint16_t tx_size;
  uint8_t *events;
  uint16_t evq;
} cbp_endpoint_config;

typedef struct {
  const cbp_endpoint_config *endpoints; /* the first is SYS */
  uint8_t endpoint_count;
  uint16_t gap_us;
  uint16_t khz;
  uint16_t watchdog_ms;
  uint8_t firmware[3];
  /* Resets the chip; called within 100 ms after GOAWAY. */
  void (*reboot)(uint8_t mode);
} cbp_board;

typedef struct {
  uint8_t *bytes;
  uint16_t size;
  uint16_t tail;
  uint16_t used;
} cbp_ring;

typedef enum { CBP_FREE, CBP_WAITING, CBP_RUNNING, CBP_DONE, CBP_REFUSED } cbp_state;

typedef struct {
  cbp_state state;
  uint16_t rid;
  uint8_t op;
  uint8_t status;
  bool has_deadline;
  bool head_sent;
  uint8_t aux;
  uint32_t arrived_us;
  uint32_t deadline_us;
  uint32_t serial;
  uint32_t body_length;
  uint32_t body_read;
  uint32_t answer_length;
  uint32_t unsent; /* response bytes of this request in the response ring */
} cbp_request;

typedef struct {
  uint32_t requests, errors, timeouts, cancels, bytes_in, bytes_out, events, events_lost, ring_peak;
} cbp_endpoint_stats;

struct cbp_endpoint {
  cbp_bridge *bridge;
  const cbp_endpoint_config *config;
  uint8_t number;
  cbp_endpoint_stats stats;
  /* Requests. */
  cbp_request slots[CBP_SLOTS];
  cbp_request *current;
  uint32_t serial;
  cbp_ring rx;
  uint16_t frame_left; /* body bytes of the frame at the ring's tail that are not read yet */
  uint16_t open_rid;   /* the request whose fragments come in, 0: none */
  bool open_closed;    /* it has been answered: what still comes of it is dropped */
  uint8_t open_aux;
  uint32_t open_left;
  /* Credit for requests, bytes modulo 2^32. */
  uint32_t received, consumed, granted;
  /* Responses. */
  cbp_ring tx;
  /* Events. */
  cbp_ring events;
  uint32_t event_spent, event_limit;
  uint32_t event_lost;
  uint16_t event_count;
};

typedef enum { CBP_BOOT, CBP_ACKING, CBP_UP } cbp_link_state;

typedef struct {
  uint16_t length;
  uint32_t sent_at; /* transaction */
  uint32_t sent_us;
  uint8_t payload[CBP_MAX_N - CBP_OVERHEAD];
} cbp_stored;

typedef struct {
  uint32_t transactions, rx_ok, rx_bad, rx_dup, tx_packets, retx, empty, resets, protocol_errors, max_loop_us;
} cbp_link_stats;

struct cbp_bridge {
  const cbp_board *board;
  uint32_t boot_id;
  uint8_t reset_reason;
  uint32_t table_crc;
  cbp_endpoint endpoints[CBP_MAX_ENDPOINTS];
  uint8_t cursors[4];
  cbp_link_stats stats;
  /* Link. */
  cbp_link_state state;
  uint32_t nonce;     /* of the session, 0: none */
  uint32_t candidate; /* of the last HELLO that was not the session's */
  cbp_hello offer;
  uint16_t sid;
  uint16_t n;
  uint8_t window;
  uint64_t uptime_us; /* the clock itself wraps every 71 minutes */
  uint32_t polled_us, heard_us;
  bool watchdog_bit;
  /* Go-back-N. */
  uint32_t base, next, unsent, highest, expected, transaction;
  cbp_stored store[CBP_MAX_WINDOW];
  /* The wire. */
  uint8_t armed[CBP_MAX_N];
  bool armed_data;
  bool in_transaction;
  /* Control frames that wait. */
  bool pong_due;
  uint32_t pong_token;
  enum { CBP_STAY, CBP_LEAVING, CBP_GONE } leaving;
  uint8_t reboot_mode;
  uint32_t leave_us;
};

/* ---- for the firmware ---- */

void cbp_start(cbp_bridge *bridge, const cbp_board *board, uint32_t boot_id, uint8_t reset_reason, uint32_t now_us);
const uint8_t *cbp_armed(const cbp_bridge *bridge);
void cbp_cs_fell(cbp_bridge *bridge, uint32_t now_us);
void cbp_cs_rose(cbp_bridge *bridge, const uint8_t *bytes, size_t count, uint32_t now_us);
void cbp_poll(cbp_bridge *bridge, uint32_t now_us);
bool cbp_data_ready(const cbp_bridge *bridge, uint32_t now_us);
/* An operation runs: poll soon. */
bool cbp_busy(const cbp_bridge *bridge);

/* ---- for the classes ---- */

/* Reads up to `count` bytes of the current request's body, as many as have come; NULL drops them. */
uint16_t cbp_read(cbp_endpoint *ep, uint8_t *out, uint16_t count);
/* Reads until `out` holds `wanted` bytes of the body from its start; true when it does. */
bool cbp_gather(cbp_endpoint *ep, uint8_t *out, uint16_t wanted);
/* Body bytes that have not been read yet, come or not. */
uint32_t cbp_body_left(const cbp_endpoint *ep);
/* Says how long the response will be. Before the first cbp_write; 0 otherwise. */
void cbp_announce(cbp_endpoint *ep, uint32_t length);
uint16_t cbp_write_room(const cbp_endpoint *ep);
/* Appends to the response; `count` is within cbp_write_room. */
void cbp_write(cbp_endpoint *ep, const uint8_t *bytes, uint16_t count);
/* Ends the current request. */
void cbp_finish(cbp_endpoint *ep, uint8_t status);
/* Sets the deadline of the current request where the host named none, counted from its arrival. */
void cbp_deadline(cbp_endpoint *ep, uint32_t ms);
/* Queues an event, or counts it as lost. */
void cbp_emit(cbp_endpoint *ep, uint8_t op, uint32_t at_us, const uint8_t *data, uint8_t count);

/* ---- between the parts of the core ---- */

void cbp_endpoint_start(cbp_endpoint *ep, cbp_bridge *bridge, const cbp_endpoint_config *config, uint8_t number);
/* A session begins or ends: everything in flight is forgotten, credit is as it was. The configuration stays. */
void cbp_endpoint_clear(cbp_endpoint *ep);
/* Ends everything in flight with a status. */
void cbp_endpoint_abort(cbp_endpoint *ep, uint8_t status);
/* Frames of the host. False: a protocol error. */
bool cbp_endpoint_receive(cbp_endpoint *ep, const cbp_frame *frame, uint32_t now_us);
void cbp_endpoint_run(cbp_endpoint *ep, uint32_t now_us);
bool cbp_endpoint_ready(const cbp_endpoint *ep);
bool cbp_endpoint_idle(const cbp_endpoint *ep);
/* Writes one frame of at most `room` bytes, returns its length or 0. */
uint16_t cbp_endpoint_cut(cbp_endpoint *ep, uint8_t *out, uint16_t room);
bool cbp_endpoint_owes_credit(const cbp_endpoint *ep);
/* Fills the payload of a new packet; 0: there is nothing to send. */
uint16_t cbp_fill(cbp_bridge *bridge, uint8_t *payload, uint16_t capacity, uint32_t now_us);
bool cbp_anything_ready(const cbp_bridge *bridge);
void cbp_describe(const cbp_endpoint *ep, uint8_t *out);

extern const cbp_class cbp_sys;

/* a is before b, on a clock that wraps. */
static inline bool cbp_before(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }

#endif
