/**
 * A simulated device, a browser and a page that has signed in: what each test of a page begins with. One device and one browser serve a file.
 * What runs in the page is a text here (`page.evaluate('document.title')`): these tests have Node's types, not a browser's.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { SpawnedCore } from '../fixtures/spawned-core.ts';
import { openBrowser } from './browser.ts';

export interface Look {
  /** Of the page: `settings`, `apps/com.example.agenda`. The start page if absent. */
  readonly at?: string;
  readonly role?: 'viewer' | 'operator';
  /** CSS pixels. */
  readonly width?: number;
  readonly height?: number;
  readonly colours?: 'dark' | 'light';
  readonly locale?: string;
}

export interface Opened extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and refusals that the page met so far: an assertion of the harness at its end. */
  readonly complaints: readonly string[];
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const READY_MS = 30_000;

export class Device implements AsyncDisposable {
  readonly core: SpawnedCore;
  readonly browser: Browser;

  private constructor(core: SpawnedCore, browser: Browser) {
    this.core = core;
    this.browser = browser;
  }

  /** The simulator SKU, with these options of kernel/start.js beside it: `--app`, `docs/examples/agenda`. */
  static start(...args: readonly string[]): Promise<Device> {
    return Device.startWith([], ...args);
  }

  /** The same, with flags for the browser: what its microphone hears. */
  static async startWith(flags: readonly string[], ...args: readonly string[]): Promise<Device> {
    const sku = args.includes('--sku') ? [] : ['--sku', 'manifests/skus/simulator.yaml'];
    const core = await SpawnedCore.start(...sku, ...args);
    try {
      return new Device(core, await openBrowser(...flags));
    } catch (thrown) {
      await core[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  get origin(): string {
    return `http://127.0.0.1:${this.core.port}`;
  }

  /** As `devicectl web` makes it. */
  async code(role: 'viewer' | 'operator' = 'operator'): Promise<string> {
    const { status, body, text } = await this.core.ask('/sessions/codes', { unix: true, body: { role } });
    assert.equal(status, 201, text);
    return body.code;
  }

  /** A page that has signed in and shows what was asked for. Disposing it fails where the page had errors of its own. */
  async open({
    at = '',
    role = 'operator',
    width = 1280,
    height = 800,
    colours = 'dark',
    locale = 'en-GB',
  }: Look = {}): Promise<Opened> {
    const viewport = { width, height };
    const context = await this.browser.newContext({
      viewport,
      colorScheme: colours,
      locale,
      permissions: ['microphone'],
    });
    context.setDefaultTimeout(READY_MS);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      // An answer that is an error is no fault of the page; what the page makes of it is seen on it.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complaints.push(message.text());
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (/^(http|ws)s?:$/.test(url.protocol) && url.host !== `127.0.0.1:${this.core.port}`)
        complaints.push(`asked ${url}`);
    });
    await page.goto(`${this.origin}/ui/#code=${await this.code(role)}`);
    await page.locator('main#main').waitFor();
    if (at !== '') await show(page, at);
    else await settled(page);
    return {
      page,
      context,
      complaints,
      [Symbol.asyncDispose]: async () => {
        // A request that a test answers may be under way.
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await context.close();
        assert.deepEqual(complaints, [], 'the page complained');
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.core[Symbol.asyncDispose]();
  }
}

/** Goes to a page by its address, as a link does. */
export async function show(page: Page, at: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${at}`)}`);
  await settled(page);
}

/** The page has its head, and nothing says that it loads. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('main .loading').first().waitFor({ state: 'detached' });
}

/** What axe finds, by rule with the elements: empty for a page that everybody can use. */
export async function barriers(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const run = `axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(RULES)} }, resultTypes: ['violations'] })`;
  const { violations } = (await page.evaluate(run)) as { readonly violations: readonly Violation[] };
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** Pixels by which the page is wider than its window; 0 for one that fits. */
export const sideways = (page: Page): Promise<number> =>
  page.evaluate<number>('Math.max(0, document.documentElement.scrollWidth - innerWidth)');

/** For people to look at: what the test sees now. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = join(tmpdir(), 'device-pages');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
