import { createServer, type Server, type Socket } from 'node:net';

export interface Mail {
  id: string;
  subject: string;
  to: string;
  text: string;
}

/** A mail server that takes whatever comes, and keeps it. */
export class Post {
  readonly mails: Mail[] = [];

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(): Promise<Post> {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const post = new Post(server, (server.address() as { port: number }).port);
    server.on('connection', (socket) => talk(socket, (mail) => post.mails.push(read(mail))));
    return post;
  }

  async stop(): Promise<void> {
    await new Promise((done) => this.server.close(done));
  }
}

/** SMTP (RFC 5321), as far as somebody who sends mail needs it. */
function talk(socket: Socket, take: (mail: string) => void): void {
  let [heard, taking] = ['', false];
  const say = (line: string) => socket.write(`${line}\r\n`);
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes) => {
    heard += bytes.toString('latin1');
    for (;;) {
      const end = heard.indexOf(taking ? '\r\n.\r\n' : '\r\n');
      if (end < 0) return;
      const part = heard.slice(0, end);
      heard = heard.slice(end + (taking ? 5 : 2));
      if (taking) take(part.replace(/^\.\./gm, '.'));
      taking = !taking && part.toUpperCase() === 'DATA';
      if (taking) say('354 go on');
      else if (part.toUpperCase() === 'QUIT') socket.end('221 bye\r\n');
      else say('250 ok');
    }
  });
  say('220 a test');
}

/** A mail's head, and its text for people who see no HTML. */
function read(mail: string): Mail {
  const head = headers(mail);
  const boundary = /boundary="?([^";]+)"?/.exec(head['content-type'] ?? '')?.[1];
  const parts = boundary === undefined ? [mail] : mail.split(`--${boundary}`);
  const text = parts.find((part) => /text\/plain/i.test(headers(part.trimStart())['content-type'] ?? '')) ?? mail;
  return {
    id: head['message-id'] ?? '',
    subject: head['subject'] ?? '',
    to: head['to'] ?? '',
    text: decoded(text.trimStart()),
  };
}

function headers(part: string): Record<string, string> {
  const head = part.split('\r\n\r\n', 1)[0].replace(/\r\n[ \t]+/g, ' ');
  const pairs = head.split('\r\n').map((line) => /^([^:]+):\s*(.*)$/.exec(line));
  return Object.fromEntries(pairs.flatMap((pair) => (pair ? [[pair[1].toLowerCase(), pair[2]]] : [])));
}

function decoded(part: string): string {
  const body = part.slice(part.indexOf('\r\n\r\n') + 4);
  switch (headers(part)['content-transfer-encoding']?.toLowerCase()) {
    case 'base64':
      return Buffer.from(body, 'base64').toString();
    case 'quoted-printable': {
      const bytes = body
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
      return Buffer.from(bytes, 'latin1').toString();
    }
    default:
      return Buffer.from(body, 'latin1').toString();
  }
}
