import { readFile } from 'node:fs/promises';
import { definePlugin, type Logger, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { GpioLine } from './gpio-line.ts';
import { findGpioTools, type GpioPin, type GpioTools } from './gpio-tools.ts';
import { PolledLine } from './poll.ts';
import { SpidevPort } from './port.ts';
import type { ReadyLine } from './ready-line.ts';
import { ResetLine } from './reset-line.ts';

export interface PortSpidevConfig {
  readonly device: string;
  readonly maxSpeedHz: number;
  readonly transactTimeoutMs: number;
  readonly dataReady?: GpioPin;
  readonly reset?: GpioPin;
  readonly pollMs: number;
  readonly tools: string;
}

/** The kernel's default, where its parameter cannot be read. */
const BUFSIZ = 4096;

export const plugin = definePlugin<Record<never, never>, PortSpidevConfig>({
  async setup(host) {
    const { scope, config, log, clock } = host;
    const tools = config.dataReady || config.reset ? await gpioTools(config.tools, log) : undefined;
    const ready = scope.use('data-ready line', await readyLine(host, tools));
    const port = scope.use(
      'port',
      new SpidevPort({
        device: config.device,
        maxSpeedHz: config.maxSpeedHz,
        maxTransfer: await longestMessage(),
        transactTimeoutMs: config.transactTimeoutMs,
        ready,
        reset: config.reset && typeof tools === 'object' ? new ResetLine(tools, config.reset, log) : undefined,
        clock,
        log,
      }),
    );
    host.tap('health.collect', (report) => {
      report.add(host.id, health(port, ready));
      if (ready.problem !== undefined) report.warn('DATA_READY_POLLED', ready.problem);
    });
    // The first transaction opens it again; this is for the log, and for the device that says what it lacks as it starts.
    await port.probe().catch(() => undefined);
    host.provide(bridgePort, port);
  },
});

function health(port: SpidevPort, ready: ReadyLine): ComponentHealth {
  if (port.problem) return { status: 'waiting', code: 'NOT_INITIALIZED', message: port.problem.message };
  return { status: 'okay', message: `data-ready line: ${ready.source}` };
}

/** The tools, or why there are none. */
async function gpioTools(folder: string, log: Logger): Promise<GpioTools | string> {
  try {
    return await findGpioTools(folder);
  } catch (error) {
    log.warn({ reason: reasonOf(error) }, 'the lines of the bridge are not used');
    return reasonOf(error);
  }
}

async function readyLine(
  { clock, config: { dataReady, pollMs }, log }: PluginHost<PortSpidevConfig>,
  tools: GpioTools | string | undefined,
): Promise<ReadyLine> {
  if (!dataReady || tools === undefined) return new PolledLine(clock, pollMs);
  if (typeof tools === 'string') return new PolledLine(clock, pollMs, tools);
  return GpioLine.open({ tools, pin: dataReady, pollMs, clock, log });
}

/** Bytes of one message that spidev takes. */
async function longestMessage(): Promise<number> {
  try {
    return Number(await readFile('/sys/module/spidev/parameters/bufsiz', 'utf8')) || BUFSIZ;
  } catch {
    return BUFSIZ; // spidev is not loaded yet, or its parameters are not readable
  }
}
