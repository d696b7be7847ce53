import { connect, createServer, type Server, type Socket } from 'node:net';

/** A line to a server that can be cut as networks are: nothing comes through, and nobody is told. */
export class Line {
  private isCut = false;
  private readonly ends = new Set<Socket>();
  /** Who called while it was cut. */
  private readonly held: Socket[] = [];

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {}

  /** Listens on one port of this machine and leads to another. */
  static async open(port: number, to: number): Promise<Line> {
    const server = createServer();
    const line = new Line(server, to);
    server.on('connection', (socket) => line.called(socket));
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
    return line;
  }

  cut(): void {
    this.isCut = true;
    for (const end of this.ends) end.pause();
  }

  mend(): void {
    this.isCut = false;
    for (const end of this.ends) end.resume();
    for (const socket of this.held.splice(0)) this.join(socket);
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.server.close(done));
    for (const socket of [...this.ends, ...this.held]) socket.destroy();
    await closed;
  }

  private called(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    if (this.isCut) {
      socket.pause();
      this.held.push(socket);
    } else {
      this.join(socket);
    }
  }

  private join(caller: Socket): void {
    const called = connect(this.port, '127.0.0.1');
    for (const [end, other] of [[caller, called], [called, caller]] as const) {
      this.ends.add(end);
      end.on('data', (data) => other.write(data));
      end.on('error', () => end.destroy());
      end.on('close', () => {
        this.ends.delete(end);
        other.destroy();
      });
    }
  }
}
