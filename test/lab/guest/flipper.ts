/** A program that has the card and flips as often as it can, until it is killed. */
import { DrivenPanel } from '@device-core/plugin-api/panel-driver';
import { painted, whole } from '../../contracts/panel.ts';
import { part } from '../../fixtures/scope.ts';
import { openScreen } from './panels.ts';

const { scope, log } = part();
const panel = await DrivenPanel.start({ scope, log, name: 'card', open: () => openScreen(scope, 'xrgb8888') });
const info = await panel.info();
for (let seq = 1; ; seq++) {
  const pixels = painted(whole(info), info.format, seq);
  await panel.present({ seq, rects: [whole(info)], pixels });
  if (seq === 1) process.stdout.write('flipping\n');
}
