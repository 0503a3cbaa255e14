import { join } from 'node:path';
import { definePlugin, device, identity, reasonOf } from '@device-core/plugin-api';
import { AppProcesses } from './app-processes.ts';
import { CallerResolver } from './caller-resolver.ts';
import { loadOperatorToken } from './operator-token.ts';
import { loadPeerReader } from './peer-credentials.ts';
import { Tokens } from './tokens.ts';

export const plugin = definePlugin({
  requires: { device },
  async setup(host, { device }) {
    const { auth, sku, paths } = await device.info();
    const file = join(paths.run, 'operator.token');
    const { token, replaced } = await loadOperatorToken(file);
    if (replaced) host.log.warn({ file, reason: replaced }, 'the operator token was replaced by a new one');

    const peers = await loadPeerReader();
    if (peers.failure) host.log.warn({ reason: reasonOf(peers.failure) }, 'peer credentials cannot be read');

    const open = auth === 'open' && sku.simulated;
    const resolver = new CallerResolver({
      tokens: new Tokens(token),
      processes: new AppProcesses(),
      uid: process.getuid?.() ?? 0,
      open,
      onListenerError: (thrown) => host.log.error({ reason: reasonOf(thrown) }, 'a listener of revocations failed'),
    });

    host.tap('health.collect', (report) => {
      report.add('identity', { status: 'okay' });
      if (peers.failure)
        report.warn(
          'PEER_CREDENTIALS_UNAVAILABLE',
          'callers on Unix sockets need a token: their credentials cannot be read',
        );
      if (open) report.warn('AUTH_OPEN', 'every caller without a token is the operator (auth: open)');
    });

    host.provide(identity, {
      authenticate: (credentials) => resolver.authenticate(credentials),
      issue: (app) => resolver.issue(app),
      revoke: (app) => resolver.revoke(app),
      launched: (launch) => resolver.launched(launch),
      peerOf: async (fd) => peers.read(fd),
      onRevoked: (listener) => resolver.onRevoked(listener),
    });
  },
});
