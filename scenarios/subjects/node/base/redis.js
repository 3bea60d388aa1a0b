'use strict';
// A small client of Redis: commands over one socket, answered in their order (RESP 2).

const net = require('node:net');

const END = '\r\n';

class Redis {
  #socket;
  #waiting = [];
  #received = Buffer.alloc(0);
  #ended = null;

  /** `url`: redis://host:port */
  constructor(url) {
    const { hostname, port } = new URL(url);
    this.#socket = net.connect(Number(port) || 6379, hostname);
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the connection to Redis was closed')));
  }

  /** Sends one command. Its answer: a string, a number, null or an array of them. */
  command(...words) {
    if (this.#ended) return Promise.reject(this.#ended);
    const parts = words.map((word) => `$${Buffer.byteLength(String(word))}${END}${word}${END}`);
    this.#socket.write(`*${words.length}${END}${parts.join('')}`);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Closes the connection; what is not answered yet fails. */
  close() {
    this.#fail(new Error('the client is closed'));
    this.#socket.destroy();
  }

  #fail(error) {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ended);
  }

  #read(chunk) {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const answer = parse(this.#received, 0);
      if (!answer) return;
      this.#received = this.#received.subarray(answer.end);
      const { resolve, reject } = this.#waiting.shift();
      if (answer.value instanceof Error) reject(answer.value);
      else resolve(answer.value);
    }
  }
}

/** The answer that begins at `from`, and where it ends; null while it is not whole. */
function parse(bytes, from) {
  const line = bytes.indexOf(END, from);
  if (line < 0) return null;
  const text = bytes.toString('utf8', from + 1, line);
  const end = line + END.length;
  switch (String.fromCharCode(bytes[from])) {
    case '+':
      return { value: text, end };
    case '-':
      return { value: new Error(text), end };
    case ':':
      return { value: Number(text), end };
    case '$':
      return bulk(bytes, end, Number(text));
    default:
      return list(bytes, end, Number(text));
  }
}

function bulk(bytes, from, length) {
  if (length < 0) return { value: null, end: from };
  const end = from + length;
  return bytes.length < end + END.length ? null : { value: bytes.toString('utf8', from, end), end: end + END.length };
}

function list(bytes, from, length) {
  const value = [];
  let end = from;
  while (value.length < length) {
    const item = parse(bytes, end);
    if (!item) return null;
    value.push(item.value);
    end = item.end;
  }
  return { value: length < 0 ? null : value, end };
}

module.exports = { Redis };
