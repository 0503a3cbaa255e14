/** The bridge object of /health (cbp.md section 13) and the component that goes with it. */
import { maybe } from '@device-core/plugin-api';
import type { BridgeHealth, ComponentHealth } from '@device-core/plugin-api/services/health';
import { RESET_REASONS } from './hello.ts';
import type { Host } from './host.ts';

export function bridgeHealth(host: Host): BridgeHealth {
  host.assess();
  const { link, state } = host;
  const { session, statistics } = link;
  const up = state === 'up' || state === 'degraded';
  const summary = statistics.summary(host.clock.monotonic());
  return {
    link: up ? 'up' : state === 'hello' ? 'resetting' : 'down',
    state,
    ...maybe({ reason: link.reason }),
    ...summary,
    ...maybe({ lastReset: statistics.lastReset }),
    ...(session ? describeSession(host) : {}),
  };
}

export function componentHealth(host: Host): ComponentHealth {
  const { state, refused } = host;
  if (refused.length > 0 && (state === 'up' || state === 'degraded')) {
    const which = refused.map(({ ep, reason }) => `endpoint ${ep}: ${reason}`).join('; ');
    return { status: 'error', code: 'ENDPOINT_NAME', message: `the bridge has endpoints that are left out: ${which}` };
  }
  if (state === 'up') return { status: 'okay' };
  const reason = host.link.reason ?? 'reading the endpoint table';
  if (state === 'degraded') return { status: 'okay', code: 'LINK_DEGRADED', message: 'the bridge link loses packets' };
  if (state === 'hello') return { status: 'waiting', code: 'LINK_HELLO', message: reason };
  return { status: 'error', code: 'LINK_DOWN', message: `the bridge link is down: ${reason}` };
}

function describeSession(host: Host): object {
  const { sid, hello, heartbeat, arq } = host.link.session!;
  const { major, minor, patch, reset } = hello.firmware;
  const { statistics } = host.link;
  const again = statistics.retransmissions + arq.retransmissions;
  return {
    sid,
    bootId: hello.bootId,
    firmware: `${major}.${minor}.${patch}`,
    bridgeReset: RESET_REASONS[reset] ?? 'unknown',
    transactionBytes: hello.n,
    clockKhz: host.link.khz,
    ...(host.link.ladder.stepsDown > 0 ? { clockStepsDown: host.link.ladder.stepsDown } : {}),
    ...maybe({ rttUs: heartbeat.rttUs }),
    retransmitPercent: Math.round((again / Math.max(1, statistics.transactions)) * 10_000) / 100,
    endpoints: Object.fromEntries(
      (host.rows ?? []).map((row) => [row.name, describeEndpoint(host, row.descriptor.ep)]),
    ),
  };
}

function describeEndpoint(host: Host, ep: number): object {
  const channel = host.link.session?.frames.channel(ep);
  const counts = host.link.countsOf(ep);
  return {
    ...(host.system.isAway(ep) ? { away: true } : {}),
    inFlight: channel?.inFlight ?? 0,
    ringPeak: channel?.credit.peak ?? 0,
    requests: counts.requests,
    errors: counts.errors,
    events: counts.events,
    lostEvents: counts.lostEvents,
  };
}
