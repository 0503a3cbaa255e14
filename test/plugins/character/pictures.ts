/** What the character and a turn of speech look like. */
import { after, describe, it } from 'node:test';
import { DAY, NIGHT, type Scene } from '@device-core/plugin-api/scene';
import { leakCheck } from '@device-core/plugin-api/testing';
import { stringsOf } from '../../../plugins/display/character/strings.ts';
import { BETWEEN, footOf, type TurnView } from '../../../plugins/display/character/turn-scene.ts';
import { FACES, STATES, sceneOfTurn, TURN } from '../../fixtures/character-sheets.ts';
import { assertPicture, NO_PICTURES, type PictureOptions, painted, widthsOf } from '../../fixtures/pictures.ts';

after(leakCheck());

const IDLE = { state: 'idle', expression: 'neutral' } as const;
const SECONDS = [0, 1, 3, 5];
type Scale = 1 | 1.25 | 1.5 | 2;

/** Measured as the device does it. */
function turn(view: TurnView, locale: string, textScale: Scale): Scene {
  const words = footOf(view, stringsOf(locale));
  return sceneOfTurn(view, widthsOf([words.join(BETWEEN), ...words], textScale), locale, textScale);
}

describe('pictures of the character', { skip: NO_PICTURES }, () => {
  for (const theme of [NIGHT, DAY]) {
    const surroundings = { theme };
    const keeps = (name: string, what: string, scene: () => Scene, options: PictureOptions) =>
      it(`${what}, ${theme.id}`, async () =>
        assertPicture(`character/${name}-${theme.id}`, await painted(scene(), { surroundings, ...options })));

    keeps('states', 'its six states and six mouths', () => STATES, { pose: IDLE, at: 1_000 });
    keeps('expressions', 'its six expressions', () => FACES, { pose: IDLE, at: 1_000 });
    for (const [index, [view, state]] of TURN.entries())
      keeps(`turn-${SECONDS[index]}s`, `a turn after ${SECONDS[index]} s`, () => turn(view, 'en', 1), {
        at: 1_000,
        pose: { state, expression: 'neutral' },
        levels: state === 'speaking' ? [{ at: 990, rms: 0.2, brightness: 0.06 }] : [],
      });
  }

  it('a turn in German at text scale 2, sent to the cloud', async () => {
    const [view, state] = TURN.at(-1)!;
    const surroundings = { textScale: 2, locale: 'de-DE' };
    const picture = await painted(turn({ ...view, stage: 'cloud' }, 'de', 2), {
      surroundings,
      at: 1_000,
      pose: { state, expression: 'neutral' },
    });
    await assertPicture('character/turn-large', picture);
  });
});
