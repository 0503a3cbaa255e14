import { appendFileSync, readFileSync } from 'node:fs';

/** The machine below the loader. Tests pass another world; `paths` are for tests and development. */
export function hereOf(service: string, paths: { system?: string; run?: string; core?: string }) {
  const tell = (line: string): void => {
    process.stderr.write(`${line}\n`);
    try {
      appendFileSync('/dev/console', `${service}: ${line}\r\n`);
    } catch {
      // A container has none; the journal has the line.
    }
  };
  return {
    /** Slots, record and loader; what the loader leaves; the run folder of the Core. */
    system: `/var/lib/${service}-system`,
    run: `/run/${service}-boot`,
    core: `/run/${service}`,
    ...paths,
    /** The command line is that of the operating system's kernel. */
    service,
    tell,
    commandLine: readFileSync('/proc/cmdline', 'utf8'),
    /** Tells one boot from another. */
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    uptime: () => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]),
    async wait(seconds: number, why: string): Promise<void> {
      if (seconds > 0) tell(`it waits ${seconds} s: ${why}`);
      await new Promise((done) => setTimeout(done, seconds * 1000));
    },
  };
}

export type Here = Readonly<ReturnType<typeof hereOf>>;
