/** A Core in this process with its page, whose bus a test can fill as fast as it likes: no app and no socket slows it. */
import { type EventBus, eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { sessions } from '@device-core/plugin-api/inside/services/sessions';
import type { Page } from 'playwright-core';
import { type Core, startCore } from '../fixtures/core.ts';

const SERVED = { operations: '^1', identity: '^1', http: '^1', web: '^1', events: '^1', system: '^1' } as const;

export class FloodedCore implements AsyncDisposable {
  readonly #core: Core;
  readonly #bus: EventBus;
  published = 0;

  private constructor(core: Core) {
    this.#core = core;
    this.#bus = core.service(eventBus);
  }

  static async start(): Promise<FloodedCore> {
    return new FloodedCore(await startCore({ plugins: SERVED, config: { http: { port: 0 } } }));
  }

  /** The address of the page with a code to sign in. */
  async address(): Promise<string> {
    const addresses = await this.#core.service(httpServer).addresses();
    const { code } = await this.#core.service(sessions).invite('operator');
    return `${addresses.find((one) => one.startsWith('http'))}/ui/#code=${code}`;
  }

  async open(page: Page, at: string): Promise<void> {
    await page.goto(await this.address());
    await page.locator('main#main').waitFor();
    await page.evaluate(`location.hash = ${JSON.stringify(`#/${at}`)}`);
  }

  async publish(count: number, topic = 'user.flood'): Promise<void> {
    for (let n = 0; n < count; n++) {
      this.published += 1;
      const payload = { n: this.published, text: 'a reading of a sensor', values: { x: n, y: n / 7, ok: true } };
      await this.#bus.publish({ topic: `${topic}.t${n % 20}`, payload, source: 'operator' });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#core.stop();
  }
}
