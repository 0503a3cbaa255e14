/** Networks: addresses, networks in reach, and one of them. The panel has no keyboard: its text names the source of a passphrase. */

import type { Layout, Part, Scene } from '@device-core/plugin-api/scene';
import { literal } from '@device-core/plugin-api/scene';
import type { WifiNetwork } from '@device-core/plugin-api/services/network';
import type { Drawing } from '../facts.ts';
import { page } from '../page.ts';
import { note, row } from '../parts/part.ts';
import type { Strings } from '../strings/index.ts';

type Making = (width: number) => Promise<Part>;
const all = (makings: readonly Making[]) => (width: number) => Promise.all(makings.map((make) => make(width)));

/** Without a passphrase: an open one, or one that the device knows. */
export const joinable = ({ security, known, joined }: WifiNetwork): boolean =>
  !joined && (known || security === 'open');

export function network({ facts, page: at }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const text = strings.network;
  const addresses = facts.addresses.map(
    ({ name, address }): Making =>
      (width) =>
        row({ icon: 'network', title: literal(name), body: literal(address), value: text.online }, width, layout),
  );
  const networks = (facts.wifi ?? []).map(
    (one, index): Making =>
      (width) =>
        row(
          {
            icon: one.security === 'open' ? 'network' : 'shield',
            title: literal(one.ssid),
            leads: true,
            value: stateOf(one, strings),
            tap: `wifi.${index}`,
          },
          width,
          layout,
        ),
  );
  const none: Making = (width) => note(text.none, width, layout);
  const parts = all([...(addresses.length > 0 ? addresses : [none]), ...networks]);
  return page({ title: text.title, parts }, at, strings, layout);
}

export async function wifi(
  { facts, surroundings, page: at }: Drawing,
  strings: Strings,
  layout: Layout,
): Promise<Scene> {
  const text = strings.network;
  const { ssid = text.title, busy = false } = facts.chosen ?? {};
  const one = facts.wifi?.find((each) => each.ssid === facts.chosen?.ssid);
  const spec = { title: literal(ssid) };
  if (!one)
    return page({ ...spec, parts: async () => [], empty: await note(text.gone, 600, layout) }, at, strings, layout);
  const signal = new Intl.NumberFormat(surroundings.locale, { style: 'percent' }).format(one.signal);
  const makings: Making[] = [
    (width) =>
      row(
        { icon: 'network', title: busy ? text.joining : stateOf(one, strings), value: `${text.signal} ${signal}` },
        width,
        layout,
      ),
  ];
  if (!busy && joinable(one))
    makings.push((width) => row({ icon: 'check', title: text.join, tap: 'do.join' }, width, layout));
  else if (!one.joined && !one.known) makings.push((width) => note(literal(whoJoins(one, strings)), width, layout));
  if (!busy && one.known)
    makings.push((width) =>
      row({ icon: 'minus', title: text.forget, body: text.forgetSays, tap: 'do.forget' }, width, layout),
    );
  return page({ ...spec, parts: all(makings) }, at, strings, layout);
}

const stateOf = ({ joined, known, security }: WifiNetwork, { network }: Strings): string =>
  joined ? network.online : known ? network.known : security === 'open' ? network.open : network.secured;

const whoJoins = ({ ssid, security }: WifiNetwork, { network }: Strings): string =>
  security === 'enterprise' ? network.enterpriseSays : network.passphraseSays(`devicectl network join ${quoted(ssid)}`);

/** As a shell wants it. */
const quoted = (text: string): string => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
