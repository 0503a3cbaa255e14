import { readFile, rename, writeFile } from 'node:fs/promises';

export interface Appointment {
  readonly title: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

const MOST = 1000;

/** The appointments, soonest first, in one file. Knows nothing of the device. */
export class Agenda {
  readonly #file: string;
  #appointments: readonly Appointment[];
  /** Writes of one file go one after the other. */
  #written: Promise<void> = Promise.resolve();

  private constructor(file: string, appointments: readonly Appointment[]) {
    this.#file = file;
    this.#appointments = appointments;
  }

  static async open(file: string): Promise<Agenda> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '[]';
      throw error;
    });
    return new Agenda(file, JSON.parse(text));
  }

  next(count: number): readonly Appointment[] {
    return this.#appointments.slice(0, count);
  }

  /** Those of the day that begins at `midnight`, as the calendar has it. */
  on(midnight: Date): readonly Appointment[] {
    const end = new Date(midnight.getFullYear(), midnight.getMonth(), midnight.getDate() + 1);
    return this.#appointments.filter(({ at }) => at >= midnight.getTime() && at < end.getTime());
  }

  async add(appointment: Appointment): Promise<void> {
    if (this.#appointments.length >= MOST) throw new Error(`there are ${MOST} appointments already`);
    await this.#save([...this.#appointments, appointment].toSorted((a, b) => a.at - b.at));
  }

  /** Takes out those whose time is not after `until`. */
  async takeDue(until: number): Promise<readonly Appointment[]> {
    const due = this.#appointments.filter(({ at }) => at <= until);
    if (due.length > 0) await this.#save(this.#appointments.slice(due.length));
    return due;
  }

  #save(appointments: readonly Appointment[]): Promise<void> {
    this.#appointments = appointments;
    const write = async () => {
      await writeFile(`${this.#file}.new`, JSON.stringify(appointments));
      await rename(`${this.#file}.new`, this.#file);
    };
    this.#written = this.#written.then(write, write);
    return this.#written;
  }
}
