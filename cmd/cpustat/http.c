/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * http.c - serves documents by HTTP, with libmicrohttpd.
 *
 * The library is loaded when it is needed: it depends on a dozen others, and a program without it
 * counts all the same.
 */
#include "http.h"

#include "../base/say.h"
#include "../base/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the socket ------------------------------------------------------------ */

/*
 * Its connections end some 20 seconds after the other machine has lost power or its network.  A
 * reader that comes again by a new one would not be known while the old one seems to be in use.
 */
static void find_lost_peers(int fd)
{
	const int on = 1, idle_s = 10, interval_s = 5, lost_ms = 20000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof(lost_ms));
}

/* Returns a socket, or -1 and a reason. */
static int open_socket(const char *address, const char *port, char *why, size_t size)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *at;
	const int on = 1;
	int rc = getaddrinfo(address, port, &hints, &at), fd;

	if (rc != 0) {
		snprintf(why, size, "%s", rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
		return -1;
	}
	fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd != -1)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd != -1)
		find_lost_peers(fd);
	if (fd == -1 || bind(fd, at->ai_addr, at->ai_addrlen) == -1 || listen(fd, 128) == -1) {
		snprintf(why, size, "%s", strerror(errno));
		if (fd != -1)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(at);
	return fd;
}

#define ADDRESS_SIZE 128

/* Writes an address and, if `port`, its port.  "unknown": it cannot be written. */
static void write_address(const struct sockaddr *at, socklen_t length, bool port,
			  char text[ADDRESS_SIZE])
{
	char host[64], number[16];

	if (getnameinfo(at, length, host, sizeof(host), number, sizeof(number),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(text, ADDRESS_SIZE, "unknown");
	else if (!port)
		snprintf(text, ADDRESS_SIZE, "%s", host);
	else
		snprintf(text, ADDRESS_SIZE, at->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
			 number);
}

/* ---- the library ---------------------------------------------------------------- */

#define LIBRARY "libmicrohttpd.so.12"

/*
 * Connections at a time: for a newcomer, the most idle one is closed.  At a limit of its own, which
 * must be higher, the library would let newcomers wait.
 */
#define MAX_CLIENTS 64
#define REQUEST_NS (10 * NSEC) /* for a request and its answer */
#define TEND_MS 1000	       /* how often to look for slow clients */

/* The functions of libmicrohttpd(3) that are used here. */
static struct {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_run) *run;
	__typeof__(MHD_get_timeout) *get_timeout;
	__typeof__(MHD_get_daemon_info) *get_daemon_info;
	__typeof__(MHD_get_connection_info) *get_connection_info;
	__typeof__(MHD_lookup_connection_value) *lookup_connection_value;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
} mhd;

static bool load_library(char *why, size_t size)
{
	/* clang-format off */
	const struct { const char *name; void *function; } functions[] = {
		{"MHD_start_daemon", &mhd.start_daemon},
		{"MHD_stop_daemon", &mhd.stop_daemon},
		{"MHD_run", &mhd.run},
		{"MHD_get_timeout", &mhd.get_timeout},
		{"MHD_get_daemon_info", &mhd.get_daemon_info},
		{"MHD_get_connection_info", &mhd.get_connection_info},
		{"MHD_lookup_connection_value", &mhd.lookup_connection_value},
		{"MHD_create_response_from_buffer", &mhd.create_response_from_buffer},
		{"MHD_add_response_header", &mhd.add_response_header},
		{"MHD_queue_response", &mhd.queue_response},
		{"MHD_destroy_response", &mhd.destroy_response},
	};
	/* clang-format on */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *function;

	for (size_t i = 0; library != NULL && i < sizeof(functions) / sizeof(*functions); i++) {
		function = dlsym(library, functions[i].name);
		memcpy(functions[i].function, &function, sizeof(function));
		if (function == NULL)
			library = NULL;
	}
	if (library == NULL)
		snprintf(why, size, "%s; install %s (Debian: libmicrohttpd12)", dlerror(), LIBRARY);
	return library != NULL;
}

/* A connection. */
struct client {
	TAILQ_ENTRY(client) next;
	int fd;
	int64_t since_ns; /* it is waiting for an answer; or when it got the last one */
	bool served;	  /* it got an answer, and has not asked again */
	bool closing;	  /* the library has not seen the end of the connection yet */
};

struct http {
	struct listener listener;
	struct MHD_Daemon *daemon;
	TAILQ_HEAD(client_list, client) clients;
	size_t n;
};

/* A request that is being answered. */
struct answer {
	bool is_document;
	struct reading reading;
};

/* ---- clients -------------------------------------------------------------------- */

/* The library sees the end of the connection, and frees it. */
static void disconnect(struct client *client)
{
	client->closing = true;
	shutdown(client->fd, SHUT_RDWR);
}

/*
 * Has the other side ended the connection?  Its end can wait behind a request: the client of one
 * that came while we were stopped has left.
 */
static bool has_left(const struct client *client, short events)
{
	struct pollfd end = {.fd = client->fd, .events = POLLRDHUP};

	return poll(&end, 1, 0) == 1 && (end.revents & events) != 0;
}

/* Readers with connections that have ended come with new ones. */
static void hang_up(const struct http *h)
{
	struct client *client;

	TAILQ_FOREACH(client, &h->clients, next) {
		if (has_left(client, POLLRDHUP))
			h->listener.document->hung_up(h->listener.arg, client);
	}
}

/* The client that has been idle for longest; those that never got an answer come first. */
static struct client *most_idle(const struct http *h)
{
	struct client *client, *found = NULL;

	TAILQ_FOREACH(client, &h->clients, next) {
		if (client->closing)
			continue;
		if (found == NULL || (found->served && !client->served) ||
		    (found->served == client->served && client->since_ns < found->since_ns))
			found = client;
	}
	return found;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *h = arg;
	struct client *client = *context, *idle;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		if (h->n >= MAX_CLIENTS && (idle = most_idle(h)) != NULL)
			disconnect(idle);
		client = xcalloc(1, sizeof(*client));
		client->fd = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				     ->connect_fd;
		client->since_ns = now_ns();
		TAILQ_INSERT_TAIL(&h->clients, client, next);
		h->n++;
		*context = client;
	} else if (client != NULL) {
		h->listener.document->hung_up(h->listener.arg, client);
		TAILQ_REMOVE(&h->clients, client, next);
		h->n--;
		free(client);
		*context = NULL;
	}
}

static struct client *client_of(struct MHD_Connection *connection)
{
	return mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static void disconnect_slow(const struct http *h)
{
	struct client *client;
	int64_t now = now_ns();

	TAILQ_FOREACH(client, &h->clients, next) {
		if (!client->served && client->since_ns + REQUEST_NS <= now)
			disconnect(client);
	}
}

/* ---- answers -------------------------------------------------------------------- */

/* The weight of a media range in an Accept header (RFC 9110, 12.5.1), in thousandths. */
static unsigned weight_of(const char *range)
{
	const char *q = strcasestr(range, ";q=");
	double weight = q != NULL ? strtod(q + 3, NULL) : 1;

	return weight > 0 && weight <= 1 ? (unsigned)(weight * 1000) : 0;
}

static bool has_type(const char *range, const char *type)
{
	size_t n = strlen(type);

	return strncasecmp(range, type, n) == 0 && (range[n] == '\0' || range[n] == ';');
}

/* Does the client want OpenMetrics rather than the older text format? */
static bool wants_openmetrics(const char *accept)
{
	unsigned openmetrics = 0, text = 0, weight;
	char copy[1024], *c = copy, *rest = copy;
	const char *range;

	for (; accept != NULL && *accept != '\0' && c < copy + sizeof(copy) - 1; accept++) {
		if (*accept != ' ' && *accept != '\t')
			*c++ = *accept;
	}
	*c = '\0';
	while ((range = strsep(&rest, ",")) != NULL) {
		weight = weight_of(range);
		if (has_type(range, "application/openmetrics-text") && weight > openmetrics)
			openmetrics = weight;
		if (has_type(range, "text/plain") && weight > text)
			text = weight;
	}
	return openmetrics > 0 && openmetrics >= text;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/*
 * Who asks.  Two programs of one kind at one address can name themselves, by ?reader=NAME.
 */
static void write_reader(struct MHD_Connection *connection, char *name, size_t size)
{
	const struct sockaddr *at =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
			->client_addr;
	const char *agent = header(connection, "User-Agent");
	const char *called =
		mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "reader");
	char address[ADDRESS_SIZE];
	socklen_t length = at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						     : sizeof(struct sockaddr_in);

	write_address(at, length, false, address);
	/* Without its version, which an update changes. */
	snprintf(name, size, "%s %.100s %.*s", address, called != NULL ? called : "",
		 agent != NULL ? (int)strcspn(agent, "/") : 0, agent != NULL ? agent : "");
}

/* Sends a text, which the library frees.  `extra`: another header and its value; or NULL. */
static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, char *text,
			     size_t n, const char *type, const char *const extra[2])
{
	struct MHD_Response *response =
		mhd.create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (response == NULL) {
		free(text);
		return MHD_NO; /* closes the connection */
	}
	mhd.add_response_header(response, "Content-Type", type);
	if (extra != NULL)
		mhd.add_response_header(response, extra[0], extra[1]);
	result = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
	static const char *const allow[2] = {"Allow", "GET, HEAD"};
	char *text = xstrdup(why);

	return reply(connection, status, text, strlen(text), "text/plain; charset=utf-8",
		     status == MHD_HTTP_METHOD_NOT_ALLOWED ? allow : NULL);
}

static enum MHD_Result reply_document(struct http *h, struct MHD_Connection *connection,
				      struct answer *answer)
{
	static const char *const vary[2] = {"Vary", "Accept"};
	const struct client *client = client_of(connection);
	struct document_request request = {
		.connection = client,
		.openmetrics = wants_openmetrics(header(connection, "Accept")),
	};
	char name[512], *text = NULL;
	size_t n = 0;
	FILE *file = open_memstream(&text, &n);

	if (file == NULL)
		return MHD_NO;
	hang_up(h);
	write_reader(connection, name, sizeof(name));
	request.reader = has_left(client, POLLRDHUP) ? NULL : name;
	answer->reading = h->listener.document->write(h->listener.arg, file, &request);
	if (fclose(file) != 0) {
		free(text);
		return MHD_NO;
	}
	return reply(connection, MHD_HTTP_OK, text, n,
		     request.openmetrics
			     ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			     : "text/plain; version=0.0.4; charset=utf-8",
		     vary);
}

/* Called when the headers of a request have come, and again when all of it has. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *size, void **context)
{
	struct client *client = client_of(connection);
	struct answer *answer = *context;
	bool get = strcmp(method, "GET") == 0;

	(void)version;
	(void)body;
	if (answer == NULL) {
		client->served = false;
		client->since_ns = now_ns();
		*context = xcalloc(1, sizeof(*answer));
		return MHD_YES;
	}
	if (*size > 0) { /* skip the body */
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(url, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "The counts are at /metrics.\n");
	if (!get && strcmp(method, "HEAD") != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD.\n");
	answer->is_document = get;
	return reply_document(arg, connection, answer);
}

static void on_end_of_request(void *arg, struct MHD_Connection *connection, void **context,
			      enum MHD_RequestTerminationCode code)
{
	struct http *h = arg;
	struct client *client = client_of(connection);
	struct answer *answer = *context;

	if (client != NULL) {
		client->served = true;
		client->since_ns = now_ns();
	}
	/* POLLERR: it left without reading it. */
	if (answer != NULL && answer->is_document && code == MHD_REQUEST_TERMINATED_COMPLETED_OK &&
	    client != NULL && !has_left(client, POLLERR))
		h->listener.document->sent(h->listener.arg, &answer->reading);
	free(answer);
	*context = NULL;
}

/* ---- the listener --------------------------------------------------------------- */

static void say_where(int fd)
{
	struct sockaddr_storage at;
	socklen_t length = sizeof(at);
	char address[ADDRESS_SIZE];

	if (getsockname(fd, (struct sockaddr *)&at, &length) == 0) {
		write_address((struct sockaddr *)&at, length, true, address);
		say("listening on http://%s/metrics", address);
	}
}

static void http_close(struct listener *listener)
{
	mhd.stop_daemon(((struct http *)listener)->daemon);
	free(listener);
}

static unsigned http_tend(struct listener *listener)
{
	struct http *h = (struct http *)listener;
	MHD_UNSIGNED_LONG_LONG ms = 0;
	bool waits = true;

	/* 0: there is more to do at once, but samples must not wait for it. */
	for (int i = 0; i < 16 && waits && ms == 0; i++) {
		mhd.run(h->daemon);
		waits = mhd.get_timeout(h->daemon, &ms) == MHD_YES;
	}
	disconnect_slow(h);
	if (h->n > 0 && (!waits || ms > TEND_MS))
		return TEND_MS;
	return waits ? (unsigned)ms + (ms == 0) : 0;
}

static struct MHD_Daemon *start(struct http *h, int fd)
{
	return mhd.start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, 2 * MAX_CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)(READERS_STAY_NS / NSEC), MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
		MHD_OPTION_NOTIFY_COMPLETED, on_end_of_request, h, MHD_OPTION_END);
}

struct listener *http_open(const char *address, const char *port)
{
	struct http *h = xcalloc(1, sizeof(*h));
	char why[512];
	int fd = load_library(why, sizeof(why)) ? open_socket(address, port, why, sizeof(why)) : -1;

	TAILQ_INIT(&h->clients);
	if (fd != -1) {
		h->daemon = start(h, fd);
		snprintf(why, sizeof(why), "libmicrohttpd does not start: %s", strerror(errno));
	}
	if (h->daemon == NULL) {
		if (fd != -1)
			close(fd);
		say("cannot listen on '%s' port %s: %s", address, port, why);
		free(h);
		return NULL;
	}
	h->listener.fd = mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	h->listener.tend = http_tend;
	h->listener.close = http_close;
	say_where(fd);
	return &h->listener;
}
